package cli

import (
	"fmt"
	"strings"

	"github.com/jobfate/jobfate/cmd/diagnose"
)

// failedPods is the digest of the failed pods.
type failedPods struct {
	// Given is the number of failed pods in the groups. Gone is how many more failures the status counts: their pods
	// no longer exist, or were not given.
	Given int `json:"given"`
	Gone  int `json:"gone"`
	// Groups has the largest group first.
	Groups []failedGroup `json:"groups"`
}

// failedGroup is a group of pods that failed alike. Rule is absent if they match none.
type failedGroup struct {
	diagnose.Group
	Rule *rule `json:"rule,omitempty"`
}

func newGroup(g diagnose.Group) failedGroup { return failedGroup{g, newRule(g.Match)} }

// addFailures adds how the pods have failed.
func (r *report) addFailures(e diagnose.Diagnosis) {
	all, of := e.Failures(), e.FailuresByIndex()
	r.FailedPods, r.failed = failedPods{all.Given, all.Gone, mapped(all.Groups, newGroup)}, all.Line(mostGroups)
	r.Proposals = e.Proposals()
	for i := range r.Indexes {
		x := &r.Indexes[i]
		if d := of[x.First]; d.Given > 0 && x.First == x.Last {
			x.FailedPods, x.failed = mapped(d.Groups, newGroup), d.Line(mostGroups)
		}
	}
}

// mostGroups is the number of groups of failed pods in a line.
const mostGroups = 3

// failures writes how the pods have failed, unless a single failure says it all.
func (b *page) failures(r *report) {
	all := &r.FailedPods
	switch {
	case all.Given < 2 && all.Gone == 0:
	case b.all && all.Given > 0:
		b.section("Failed pods", mapped(all.Groups, failedGroup.line))
	default:
		write(b, "Failed pods: %s.\n", r.failed)
	}
}

// line returns all of a group in one line.
func (g failedGroup) line() string {
	text := g.String()
	if g.Message != "" {
		text += ": " + g.Message
		if g.Alike < len(g.Pods) {
			text += fmt.Sprintf(" (%d of them)", g.Alike)
		}
	}
	if len(g.Nodes) > 0 {
		text += "; pods by node: " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(g.Nodes), "map["), "]")
	}
	return text + "; " + strings.Join(g.Pods, ", ")
}

// helps writes in a line what would have helped, if anything is known to.
func (b *page) helps(r *report) {
	remedies := mapped(r.Proposals.Patterns, func(p diagnose.Pattern) string { return p.Remedy })
	if len(remedies) > 0 && !r.advise {
		write(b, "What would have helped: %s (--advise says more).\n", strings.Join(remedies, "; "))
	}
}

// proposals writes all about what would have helped. The patch begins its lines at the margin, to be copied.
func (b *page) proposals(all diagnose.Proposals) {
	var lines []string
	for _, p := range all.Patterns {
		remedy := "  " + p.Remedy
		if p.Gain != "" {
			remedy += ": " + p.Gain
		}
		lines = append(lines, b.paint.text(yellow, string(p.Code))+": "+p.Text, remedy)
	}
	if len(lines) == 0 {
		lines = []string{"no other rule or limit for failures, as far as is given; see the advice above"}
	}
	b.section("What would have helped", lines)
	if len(all.Patch) > 0 {
		patch, _ := toYAML(all.Patch) // as every output
		b.WriteString("\nMerge this into the next Job; simulate --with FILE tries it:\n\n" + patch)
		write(b, "\n%s\n", all.Advice)
	}
}

// Log is the end of the log of a container.
type Log struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// Previous says that it is the log of the run before the last restart.
	Previous bool     `json:"previous"`
	Lines    []string `json:"lines"`
	// Error says why the log cannot be read; absent if it can.
	Error string `json:"error,omitempty"`
}

// Culprit returns the pod and the container that show the first cause; empty if none does.
func (v *View) Culprit() (pod, container string) {
	return v.reports[0].Reason.Pod, v.reports[0].Reason.Container
}

// AddLog adds the end of a log to the first report; nil if there is none.
func (v *View) AddLog(l *Log) {
	if v.reports[0].Log = l; l != nil && l.Lines == nil {
		l.Lines = []string{}
	}
}

// log writes the end of a log.
func (b *page) log(l *Log) {
	if l == nil {
		return
	}
	lines := l.Lines
	if l.Error != "" {
		lines = []string{"it cannot be read: " + l.Error}
	}
	b.section(fmt.Sprintf("Log of container %s of pod %s%s", l.Container, l.Pod,
		map[bool]string{true: ", before its restart"}[l.Previous]), lines)
}
