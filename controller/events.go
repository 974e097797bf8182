package controller

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// told is what the user has been told of a Job by itself, so that it is not told
// again at each sync.
type told struct {
	job     types.UID
	failed  indexset.Set // the indexes that have failed
	refusal string       // why the Job cannot be decided
	names   string       // what is wrong with the names of its rules
	waits   explain.Reason
	at      time.Time // when waits was told
}

const (
	// explainAgain is how long it takes until the same kind of wait is told again.
	explainAgain = 5 * time.Minute
	// mostIndexes is how many failed indexes one event names.
	mostIndexes = 3
	// eventsPerSync is how many successful creations or deletions a sync reports as events.
	// client-go sends no more of one budget in a short time, and to make up those that it
	// drops costs a tenth of the CPU.
	eventsPerSync = 25
)

// explains are the reasons of a Job that a user would ask for: there is no pod,
// and nothing else tells why. A Job that is suspended or that ends has events and
// conditions of its own.
var explains = map[explain.Code]bool{
	explain.JobBackingOff:          true,
	explain.JobAwaitingTermination: true,
	explain.JobNoParallelism:       true,
}

// about begins anew for another Job of the same name.
func (t *told) about(job *batchv1.Job) {
	if t.job != job.UID {
		*t = told{job: job.UID, failed: jobstatus.Indexes(job).Failed}
	}
}

// explained tells why there is no pod, when that is new. This and what follows
// return the empty event when there is nothing to tell.
func (t *told) explained(why explain.Reason, now time.Time) (e jobfate.Event) {
	again := now.Sub(t.at) >= explainAgain && why.Until.After(t.waits.Until)
	if !explains[why.Code] || why.Code == t.waits.Code && !again {
		return e
	}
	t.waits, t.at = why, now
	return jobfate.Event{Type: corev1.EventTypeNormal, Reason: string(why.Code), Message: why.Text}
}

// refused tells why a Job cannot be decided.
func (t *told) refused(err error) (e jobfate.Event) {
	refusal := ""
	if hopeless(err) {
		refusal = err.Error()
	}
	if t.refusal == refusal {
		return e
	}
	if t.refusal = refusal; refusal != "" {
		e = jobfate.Event{Type: corev1.EventTypeWarning, Reason: "CannotDecide", Message: refusal}
	}
	return e
}

// badNames tells what is wrong with the names of the rules.
func (t *told) badNames(err error) (e jobfate.Event) {
	if err == nil || t.names == err.Error() {
		return e
	}
	t.names = err.Error()
	return jobfate.Event{Type: corev1.EventTypeWarning, Reason: "InvalidRuleNames", Message: err.Error() + "; the rules go by their indexes"}
}

// failedIndexes tells which indexes fail with a decision, and how.
func (t *told) failedIndexes(d jobfate.Decision) (e jobfate.Event) {
	if d.Status == nil || ptr.Deref(d.Status.FailedIndexes, "") == t.failed.String() {
		return e
	}
	var lines []string
	more := 0
	for r := range explain.Of(d).Indexes() {
		switch {
		case r.Code != explain.IndexFailed || r.Indexes.Difference(t.failed).IsEmpty():
			continue
		case len(lines) == mostIndexes:
			more += r.Indexes.Len()
		default:
			lines = append(lines, failedIndex(r))
		}
		t.failed = t.failed.Union(r.Indexes)
	}
	if len(lines) == 0 {
		return e
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return jobfate.Event{Type: corev1.EventTypeWarning, Reason: "IndexFailed", Message: strings.Join(lines, "; ")}
}

func failedIndex(r explain.IndexReason) string {
	line := r.String()
	if r.FailedPod != "" {
		line += fmt.Sprintf(": pod %s: %s", r.FailedPod, r.Fault)
	}
	if r.Match.Matched() {
		line += ": " + r.Match.Explain()
	}
	return line
}
