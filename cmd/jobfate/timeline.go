package main

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/simulation"
)

// timeline is the output of simulate with -o json: fields are added, but none is
// removed or changes its meaning. A list is never null.
type timeline struct {
	Job jobRef `json:"job"`
	// File is set when two Jobs are compared.
	File string `json:"file,omitempty"`
	*simulation.Result
	Statuses []stage `json:"statuses"`
	indexed  bool
}

// stage is what one status changed.
type stage struct {
	At      simulation.Time `json:"at"`
	Changes []change        `json:"changes"`
}

// refOfNew names a Job as the cluster would; only a UID is not made up.
func refOfNew(job *batchv1.Job) jobRef {
	ref := refOf(named(job))
	ref.UID = string(job.UID)
	return ref
}

func newTimeline(job *batchv1.Job, file string, r *simulation.Result) timeline {
	return timeline{refOfNew(job), file, r, mapped(r.Statuses, func(s simulation.Status) stage {
		return stage{s.At, changes(s.Old, s.New)}
	}), isIndexed(job)}
}

// moment is a line of the timeline.
type moment struct {
	at    simulation.Time
	color string
	text  string
}

// text writes the timeline for people to read.
func (t timeline) text(p paint) string {
	var b strings.Builder
	b.WriteString(p.text(bold+";"+t.color(), t.end()))
	if t.Reason != "" {
		fmt.Fprintf(&b, ": %s: %s", t.Reason, t.Message)
	}
	fmt.Fprintf(&b, "\n\nJob %s/%s, %s that ran %s: %s.\n\n", t.Job.Namespace, t.Job.Name, podCount(t.Totals.Pods), t.Totals.Running, t.outcomes())
	moments := t.moments()
	width := 0
	for _, m := range moments {
		width = max(width, len(m.at.String()))
	}
	for i, m := range moments {
		at := m.at.String()
		if i > 0 && moments[i-1].at == m.at {
			at = ""
		}
		fmt.Fprintf(&b, "%*s  %s\n", width, at, p.text(m.color, m.text))
	}
	return b.String()
}

// end says how and when it ended.
func (t timeline) end() string {
	after := " after " + t.Took.String()
	switch t.End {
	case simulation.Stalled:
		return "Stalled" + after + ": the Job has not ended, and nothing happens any more"
	case simulation.OutOfTime:
		return "Out of time" + after + ": the Job has not ended"
	case simulation.Interrupted:
		return "Interrupted" + after + ": the Job has not ended"
	}
	return string(t.End) + after
}

func (t timeline) color() string {
	switch t.End {
	case simulation.Complete:
		return green
	case simulation.Failed:
		return red
	}
	return yellow
}

func (t timeline) outcomes() string {
	var parts []string
	unfinished := t.Totals.Pods - t.Totals.Succeeded - t.Totals.Failed - t.Totals.Evicted - t.Totals.Deleted
	for _, o := range []struct {
		n    int
		what string
	}{{t.Totals.Succeeded, "succeeded"}, {t.Totals.Failed, "failed"}, {t.Totals.Evicted, "evicted"}, {t.Totals.Deleted, "deleted"}, {unfinished, "unfinished"}} {
		if o.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", o.n, o.what))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// moments are the lines of the timeline in the order of time. Within a time the
// cause comes before what follows from it.
func (t timeline) moments() (out []moment) {
	add := func(at simulation.Time, color, format string, args ...any) {
		out = append(out, moment{at, color, fmt.Sprintf(format, args...)})
	}
	for _, e := range t.Happened {
		add(e.At, cyan, "%s", e.Text)
	}
	for _, lane := range t.Lanes {
		for _, pod := range lane.Pods {
			if pod.Ended != nil {
				add(*pod.Ended, colorOf(pod.Outcome), "%s %s", t.podName(lane, pod), ending(pod))
			}
		}
	}
	for _, lane := range t.Lanes {
		for _, pod := range lane.Pods {
			if pod.Started != nil {
				add(*pod.Started, "", "%s starts", t.podName(lane, pod))
			}
		}
	}
	for _, c := range t.Conditions {
		add(c.At, bold, "condition %s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	told := ""
	for i, s := range t.Result.Statuses { // of those of one time the last
		last := i == len(t.Statuses)-1 || t.Statuses[i+1].At != s.At
		if text := counters(s.New); last && text != told {
			add(s.At, "", "%s", text)
			told = text
		}
	}
	for _, w := range t.Waits {
		add(w.From, yellow, "the Job backs off until %s", w.Until)
	}
	for _, lane := range t.Lanes {
		for _, w := range lane.Waits {
			add(w.From, yellow, "index %d backs off until %s", lane.Index, w.Until)
		}
	}
	slices.SortStableFunc(out, func(a, b moment) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	return out
}

func (t timeline) podName(lane simulation.Lane, pod simulation.Pod) string {
	if t.indexed {
		return fmt.Sprintf("index %d: pod %s", lane.Index, pod.Name)
	}
	return "pod " + pod.Name
}

func colorOf(o simulation.Outcome) string {
	switch o {
	case simulation.PodSucceeded:
		return green
	case simulation.PodFailed:
		return red
	}
	return yellow
}

// ending says how a pod ended.
func ending(pod simulation.Pod) string {
	text := map[simulation.Outcome]string{
		simulation.PodSucceeded: "succeeds",
		simulation.PodFailed:    "fails",
		simulation.PodEvicted:   "ends, evicted",
		simulation.PodDeleted:   "ends, deleted",
	}[pod.Outcome]
	if pod.Outcome == simulation.PodFailed && pod.ExitCode != nil {
		text += fmt.Sprintf(" with exit code %d", *pod.ExitCode)
	}
	if pod.Restarts > 0 {
		text += ", restarted " + count(pod.Restarts, "time")
	}
	if pod.Action != "" {
		text += fmt.Sprintf("; %s: %s", pod.Action, pod.Rule)
	}
	return text
}

// counters are the numbers of a status that are worth a line.
func counters(s *batchv1.JobStatus) string {
	text := fmt.Sprintf("status: active %d, succeeded %d, failed %d", s.Active, s.Succeeded, s.Failed)
	if s.Terminating != nil && *s.Terminating > 0 {
		text += fmt.Sprintf(", terminating %d", *s.Terminating)
	}
	if s.CompletedIndexes != "" {
		text += ", completed " + shortened(s.CompletedIndexes, false)
	}
	if s.FailedIndexes != nil && *s.FailedIndexes != "" {
		text += ", failed indexes " + shortened(*s.FailedIndexes, false)
	}
	return text
}
