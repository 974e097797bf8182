package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
	"github.com/jobfate/jobfate/jobstatus"
)

// timeline is the output of simulate with -o json: fields may be added, but none is removed
// or changes its meaning. A list is never null.
type timeline struct {
	titled
	// From is the time from which an existing Job continued.
	From string `json:"from,omitempty"`
	*simulation.Result
	Statuses    []statusWrite `json:"statuses"`
	statusTexts []statusText
	indexed     bool
}

// statusWrite is a status write and what it changed.
type statusWrite struct {
	At      simulation.Time `json:"at"`
	Changes []change        `json:"changes"`
}

// statusText is the text about a status.
type statusText struct {
	at   simulation.Time
	text string
}

// recorder keeps the status writes that the output shows.
type recorder struct {
	changes, lines bool
	writes         []statusWrite
	statusTexts    []statusText
	size           int
}

// mostChanges is the maximum size of the changes of all statuses, in bytes.
const mostChanges = 256 << 20

func (r *recorder) stored(s simulation.Status) error {
	if r.changes {
		next := statusWrite{s.At, changes(s.Old, s.New)}
		for _, c := range next.Changes {
			r.size += 100 + len(c.Field) + 2*len(c.Old) + 2*len(c.New)
		}
		if r.size > mostChanges {
			return fmt.Errorf("gave up at %s of virtual time: the statuses take more than %d MiB; -o text "+
				"does not keep them", s.At, mostChanges>>20)
		}
		r.writes = append(r.writes, next)
	}
	if r.lines { // keep only the last status of a time
		if last := len(r.statusTexts) - 1; last >= 0 && r.statusTexts[last].at == s.At {
			r.statusTexts = r.statusTexts[:last]
		}
		if text := counters(s.New); len(r.statusTexts) == 0 || r.statusTexts[len(r.statusTexts)-1].text != text {
			r.statusTexts = append(r.statusTexts, statusText{s.At, text})
		}
	}
	return nil
}

func newTimeline(n titled, job part, result *simulation.Result, r *recorder) timeline {
	t := timeline{titled: n, Result: result, Statuses: r.writes, statusTexts: r.statusTexts,
		indexed: jobstatus.IsIndexed(&job.Job.Spec)}
	if t.Statuses == nil {
		t.Statuses = []statusWrite{}
	}
	if job.live != nil {
		t.From = job.live.Now.UTC().Format(time.RFC3339)
	}
	return t
}

// text returns the timeline as text.
func (t timeline) text(p paint, full bool) string {
	var b strings.Builder
	b.WriteString(p.text(bold+";"+endColors[t.End], t.end()))
	if t.Reason != "" {
		write(&b, ": %s: %s", t.Reason, t.Message)
	}
	write(&b, "\n\nJob %s/%s, %s that ran for %s in total: %s.\n", t.Job.Namespace, t.Job.Name,
		podCount(t.Totals.Pods), t.Totals.Running, t.outcomes())
	if n := t.Totals.Restarts; n > 0 {
		write(&b, "Pods were restarted in place %s.\n", count(n, "time"))
	}
	if t.From != "" {
		write(&b, "All times are relative to %s.\n", t.From)
	}
	b.WriteString("\n")
	lines, left := t.lines(), 0
	if !full {
		lines, left = folded(lines, t.indexed)
	}
	width := 0
	for _, l := range lines {
		width = max(width, len(l.at.String()))
	}
	for i, l := range lines {
		at := l.at.String()
		if i > 0 && lines[i-1].at == l.at {
			at = ""
		}
		write(&b, "%*s  %s\n", width, at, p.text(l.color, t.textOf(l)))
	}
	if left > 0 {
		write(&b, "\n%d lines are folded into %d; --full prints all of them.\n", left, len(lines))
	}
	return b.String()
}

// end says how and when the simulation ended.
func (t timeline) end() string {
	after := " after " + t.Took.String()
	switch t.End {
	case simulation.Stalled:
		return "Stalled" + after + ": the Job has not ended, and nothing more will happen: " + t.WaitsFor
	case simulation.OutOfTime:
		return "Out of time" + after + ": the Job has not ended"
	case simulation.Interrupted:
		return "Interrupted" + after + ": the Job has not ended"
	}
	return string(t.End) + after
}

var endColors = map[simulation.End]string{simulation.Complete: green, simulation.Failed: red,
	simulation.Stalled: yellow, simulation.OutOfTime: yellow, simulation.Interrupted: yellow}

func (t timeline) outcomes() string {
	var parts []string
	unfinished := t.Totals.Pods - t.Totals.Succeeded - t.Totals.Failed - t.Totals.Evicted - t.Totals.Deleted
	for _, o := range []struct {
		n    int
		what string
	}{{t.Totals.Succeeded, "succeeded"}, {t.Totals.Failed, "failed"}, {t.Totals.Evicted, "evicted"},
		{t.Totals.Deleted, "deleted"}, {unfinished, "unfinished"}} {
		if o.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", o.n, o.what))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// counters returns the line about a status.
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
