package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// timelineLine is a line of the text of a timeline: what happens to a pod, an index or the Job at
// a time.
type timelineLine struct {
	at    simulation.Time
	rank  int
	color string
	text  string // if empty, textOf renders it: only a few of many lines are printed
	what  lineText
	index int32           // the index, in a line about a pod or an index
	pod   *simulation.Pod // the pod, in a line about a pod
	pods  []int32         // the indexes of all pods that a merged line is about
	sums  []sum           // what happened in the lines that this line replaces
}

// lineText is the text of a line, without the name of the pod or the index.
type lineText struct {
	subject   string // "pod", "index" or "" for the Job
	one, many string // "fails with exit code 1", "fail with exit code 1"
	until     string // the end of a backoff
	important bool   // events and conditions
	restart   bool   // of a pod in place
}

// sum counts how often something happened.
type sum struct {
	what lineText
	n    int
}

// The order of lines of the same time: causes come before their effects.
const (
	ofEvent = iota
	ofEnd
	ofRestart
	ofStart
	ofCondition
	ofStatus
	ofBackoff
	ofIndexBackoff
)

// lines returns the lines of the timeline in the order of time.
func (t timeline) lines() []timelineLine {
	all := make([]timelineLine, 0, t.most())
	for _, e := range t.Happened {
		all = append(all, timelineLine{at: e.At, rank: ofEvent, color: cyan,
			what: lineText{one: e.Text, important: true}, text: e.Text})
	}
	for _, lane := range t.Lanes {
		add := func(at simulation.Time, rank int, color string, what lineText, pod *simulation.Pod) {
			all = append(all, timelineLine{at: at, rank: rank, color: color, what: what, index: lane.Index, pod: pod})
		}
		for n := range lane.Pods {
			pod := &lane.Pods[n]
			if pod.Ended != nil {
				add(*pod.Ended, ofEnd, outcomeColors[pod.Outcome], endOf(*pod), pod)
			}
			for _, r := range pod.Restarted {
				add(r.At, ofRestart, yellow, restartOf(r), pod)
			}
			if pod.Started != nil {
				add(*pod.Started, ofStart, "", starts, pod)
			}
		}
		for _, w := range lane.Waits {
			add(w.From, ofIndexBackoff, yellow, lineText{subject: "index", one: "backs off", many: "back off",
				until: " until " + w.Until.String()}, nil)
		}
	}
	for _, c := range t.Conditions {
		text := fmt.Sprintf("condition %s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message)
		all = append(all, timelineLine{at: c.At, rank: ofCondition, color: bold,
			what: lineText{one: text, important: true}, text: text})
	}
	for _, s := range t.statusTexts {
		all = append(all, timelineLine{at: s.at, rank: ofStatus, what: lineText{one: "status"}, text: s.text})
	}
	for _, w := range t.Waits {
		all = append(all, timelineLine{at: w.From, rank: ofBackoff, color: yellow,
			what: lineText{one: "the Job backs off"}, text: fmt.Sprintf("the Job backs off until %s", w.Until)})
	}
	slices.SortStableFunc(all, func(a, b timelineLine) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	return all
}

// most is the maximum number of lines.
func (t timeline) most() int {
	n := len(t.Happened) + len(t.Conditions) + len(t.statusTexts) + len(t.Waits)
	for _, lane := range t.Lanes {
		n += 2*len(lane.Pods) + len(lane.Waits)
		for i := range lane.Pods {
			n += len(lane.Pods[i].Restarted)
		}
	}
	return n
}

var starts = lineText{subject: "pod", one: "starts", many: "start"}

// restartOf says why a pod is restarted in place.
func restartOf(r simulation.Restart) lineText {
	after := fmt.Sprintf(" in place after exit code %d", r.ExitCode)
	if r.Rule != "" {
		after += ", by " + r.Rule
	}
	return lineText{subject: "pod", one: "restarts" + after, many: "restart" + after, restart: true}
}

// textOf returns the text of a line.
func (t timeline) textOf(m timelineLine) string {
	switch {
	case m.text != "" || m.what.subject == "":
		return m.text
	case m.pod == nil:
		return fmt.Sprintf("index %d %s%s", m.index, m.what.one, m.what.until)
	}
	who := "pod " + m.pod.Name
	if t.indexed {
		who = fmt.Sprintf("index %d: %s", m.index, who)
	}
	if m.what == starts || m.what.restart {
		return who + " " + m.what.one
	}
	return who + " " + ending(*m.pod)
}

var outcomeColors = map[simulation.Outcome]string{simulation.PodSucceeded: green, simulation.PodFailed: red,
	simulation.PodEvicted: yellow, simulation.PodDeleted: yellow}

// endOf says how a pod ended, without its restarts and the text of a rule.
func endOf(pod simulation.Pod) lineText {
	w := lineText{subject: "pod"}
	switch pod.Outcome {
	case simulation.PodSucceeded:
		w.one, w.many = "succeeds", "succeed"
	case simulation.PodFailed:
		w.one, w.many = "fails", "fail"
	case simulation.PodEvicted:
		w.one, w.many = "ends after eviction", "end after eviction"
	case simulation.PodDeleted:
		w.one, w.many = "ends after deletion", "end after deletion"
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
		text += fmt.Sprintf("; matched %s %s", pod.Action, pod.Rule)
	}
	return text
}
