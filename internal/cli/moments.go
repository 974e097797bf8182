package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobfate/jobfate/internal/simulation"
)

// moment is a line of the text of a timeline: what happens at a time, to a pod, an
// index or the Job.
type moment struct {
	at    simulation.Time
	color string
	text  string
	what  what
	index int32 // of the pod; none of the Job
	pods  []int32
	sums  []sum // of a line that stands for others: what they say
}

// what is what a line says, but for the pod or the index that it says it of.
type what struct {
	subject   string // "pod", "index" or "" for the Job
	one, many string // "fails with exit code 1", "fail with exit code 1"
	until     string // of a backoff
	important bool   // events and conditions
}

// sum is how often something has happened.
type sum struct {
	what what
	n    int
}

// moments are the lines of the timeline in the order of time. Within a time the
// cause comes before what follows from it.
func (t timeline) moments() (out []moment) {
	add := func(at simulation.Time, color string, w what, index int32, text string) {
		out = append(out, moment{at: at, color: color, what: w, index: index, text: text})
	}
	for _, e := range t.Happened {
		add(e.At, cyan, what{one: e.Text, important: true}, 0, e.Text)
	}
	for _, lane := range t.Lanes {
		for _, pod := range lane.Pods {
			if pod.Ended != nil {
				add(*pod.Ended, colorOf(pod.Outcome), endOf(pod), lane.Index, t.podName(lane, pod)+" "+ending(pod))
			}
		}
	}
	for _, lane := range t.Lanes {
		for _, pod := range lane.Pods {
			if pod.Started != nil {
				add(*pod.Started, "", what{subject: "pod", one: "starts", many: "start"}, lane.Index, t.podName(lane, pod)+" starts")
			}
		}
	}
	for _, c := range t.Conditions {
		text := fmt.Sprintf("condition %s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		add(c.At, bold, what{one: text, important: true}, 0, text)
	}
	for _, s := range t.tallies {
		add(s.at, "", what{one: "status"}, 0, s.text)
	}
	for _, w := range t.Waits {
		add(w.From, yellow, what{one: "the Job backs off"}, 0, fmt.Sprintf("the Job backs off until %s", w.Until))
	}
	for _, lane := range t.Lanes {
		for _, w := range lane.Waits {
			add(w.From, yellow, what{subject: "index", one: "backs off", many: "back off", until: " until " + w.Until.String()},
				lane.Index, fmt.Sprintf("index %d backs off until %s", lane.Index, w.Until))
		}
	}
	slices.SortStableFunc(out, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
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

// endOf says how a pod ended, without its restarts and the text of a rule.
func endOf(pod simulation.Pod) what {
	w := what{subject: "pod"}
	switch pod.Outcome {
	case simulation.PodSucceeded:
		w.one, w.many = "succeeds", "succeed"
	case simulation.PodFailed:
		w.one, w.many = "fails", "fail"
	case simulation.PodEvicted:
		w.one, w.many = "ends, evicted", "end, evicted"
	case simulation.PodDeleted:
		w.one, w.many = "ends, deleted", "end, deleted"
	}
	more := ""
	if pod.Outcome == simulation.PodFailed && pod.ExitCode != nil {
		more = fmt.Sprintf(" with exit code %d", *pod.ExitCode)
	}
	if pod.Action != "" {
		more += " (" + pod.Action + ")"
	}
	w.one, w.many = w.one+more, w.many+more
	return w
}

// ending says how a pod ended.
func ending(pod simulation.Pod) string {
	brief := pod
	brief.Action = ""
	text := endOf(brief).one
	if pod.Restarts > 0 {
		text += ", restarted " + count(pod.Restarts, "time")
	}
	if pod.Action != "" {
		text += fmt.Sprintf("; %s: %s", pod.Action, pod.Rule)
	}
	return text
}
