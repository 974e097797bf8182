package main

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/indexset"
)

// told is what the user has been told of a Job by itself, so that it is not told
// again at each turn.
type told struct {
	refusal string // why the Job cannot be decided
	names   string // what is wrong with the names of its rules
	waits   jobfate.Reason
	at      time.Time // when waits was told
}

const (
	// explainAgain is how long it takes until the same kind of wait is told again.
	explainAgain = 5 * time.Minute
	// mostIndexes is how many failed indexes one event names.
	mostIndexes = 3
)

// explains are the reasons of a Job that a user would ask for: there is no pod,
// and nothing else tells why. A Job that is suspended or that ends has events and
// conditions of its own.
var explains = map[jobfate.Code]bool{
	jobfate.JobBackingOff:          true,
	jobfate.JobAwaitingTermination: true,
	jobfate.JobNoParallelism:       true,
}

// explain tells the user why there is no pod, when that is new.
func (t *told) explain(why jobfate.Reason, now time.Time) (jobfate.Event, bool) {
	again := now.Sub(t.at) >= explainAgain && why.Until.After(t.waits.Until)
	if !explains[why.Code] || why.Code == t.waits.Code && !again {
		return jobfate.Event{}, false
	}
	t.waits, t.at = why, now
	return jobfate.Event{Type: jobfate.Normal, Reason: string(why.Code), Message: why.Text}, true
}

// failedIndexes tells which indexes fail with a decision, and how.
func failedIndexes(job *batchv1.Job, d jobfate.Decision) (jobfate.Event, bool) {
	if d.Status == nil || d.Status.FailedIndexes == nil || job.Status.FailedIndexes != nil && *job.Status.FailedIndexes == *d.Status.FailedIndexes {
		return jobfate.Event{}, false
	}
	var before indexset.Set
	if job.Status.FailedIndexes != nil {
		before, _ = indexset.ParseDamaged(*job.Status.FailedIndexes, *job.Spec.Completions)
	}
	var lines []string
	more := 0
	for r := range d.Why.Indexes() {
		switch {
		case r.Code != jobfate.IndexFailed || before.Contains(r.First):
		case len(lines) == mostIndexes:
			more += int(r.Last-r.First) + 1
		default:
			lines = append(lines, failedIndex(r))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return jobfate.Event{Type: jobfate.Warning, Reason: "IndexFailed", Message: strings.Join(lines, "; ")}, len(lines) > 0
}

func failedIndex(r jobfate.IndexReason) string {
	line := r.String()
	if r.FailedPod != "" {
		line += fmt.Sprintf(": pod %s: %s", r.FailedPod, r.Fault)
	}
	if r.Match.Matched() {
		line += ": " + r.Match.Explain()
	}
	return line
}

// refused tells why a Job cannot be decided.
func (t *told) refused(err error) (jobfate.Event, bool) {
	if t.refusal == err.Error() {
		return jobfate.Event{}, false
	}
	t.refusal = err.Error()
	return jobfate.Event{Type: jobfate.Warning, Reason: "CannotDecide", Message: err.Error()}, true
}

// badNames tells what is wrong with the names of the rules; nil when nothing is.
func (t *told) badNames(err error) (jobfate.Event, bool) {
	if err == nil {
		t.names = ""
		return jobfate.Event{}, false
	}
	if t.names == err.Error() {
		return jobfate.Event{}, false
	}
	t.names = err.Error()
	return jobfate.Event{Type: jobfate.Warning, Reason: "InvalidRuleNames", Message: err.Error() + "; the rules go by their indexes"}, true
}

// record sends an event.
func (c *controller) record(job *batchv1.Job, e jobfate.Event) {
	c.recorder.Event(job, string(e.Type), e.Reason, e.Message)
}

func (c *controller) recordIf(job *batchv1.Job, e jobfate.Event, ok bool) {
	if ok {
		c.record(job, e)
	}
}

// The types of events are spelled as Kubernetes spells them.
var _ = [1]struct{}{}[len(corev1.EventTypeNormal)-len(jobfate.Normal)]
