package controller

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// reported records the events that the controller has sent for a Job, so that it does not
// send them again at every sync.
type reported struct {
	job     types.UID
	failed  indexset.Set // the indexes that have failed
	refusal string       // why no decision can be made
	names   string       // the error in the rule names
	waits   explain.Reason
	at      time.Time // when waits was reported
}

const (
	// explainAgain is the time before the same reason to wait is reported again.
	explainAgain = 5 * time.Minute
	// maxIndexes is how many failed indexes one event names.
	maxIndexes = 3
	// eventsPerSync is how many successful creations or deletions a sync reports as events.
	// client-go would drop further events of the same reason, and building these events costs
	// a tenth of the CPU.
	eventsPerSync = 25
)

// worthAnEvent lists the reasons for a missing pod that would otherwise appear in no event and no
// condition. A Job that is suspended or has ended has events and conditions that say so.
var worthAnEvent = map[explain.Code]bool{
	explain.JobBackingOff:          true,
	explain.JobAwaitingTermination: true,
	explain.JobNoParallelism:       true,
}

// resetFor clears the record if the Job is a new one with the same name.
func (t *reported) resetFor(job *batchv1.Job) {
	if t.job != job.UID {
		*t = reported{job: job.UID, failed: jobstatus.Indexes(job).Failed}
	}
}

// explained returns an event that says why there is no pod, if the reason is new. Like the
// functions below, it returns an empty event if there is nothing to report.
func (t *reported) explained(why explain.Reason, now time.Time) (e decide.Event) {
	again := now.Sub(t.at) >= explainAgain && why.Until.After(t.waits.Until)
	if !worthAnEvent[why.Code] || why.Code == t.waits.Code && !again {
		return e
	}
	t.waits, t.at = why, now
	return decide.Event{Type: corev1.EventTypeNormal, Reason: string(why.Code), Message: why.Text}
}

// refused returns an event that says why no decision can be made.
func (t *reported) refused(err error) (e decide.Event) {
	refusal := ""
	if permanent(err) {
		refusal = err.Error()
	}
	if t.refusal == refusal {
		return e
	}
	if t.refusal = refusal; refusal != "" {
		e = decide.Event{Type: corev1.EventTypeWarning, Reason: "CannotDecide", Message: refusal}
	}
	return e
}

// badNames returns an event that reports invalid rule names.
func (t *reported) badNames(err error) (e decide.Event) {
	if err == nil || t.names == err.Error() {
		return e
	}
	t.names = err.Error()
	return decide.Event{Type: corev1.EventTypeWarning, Reason: "InvalidRuleNames",
		Message: err.Error() + "; the reason names a rule by its index"}
}

// failedIndexes returns an event with the indexes that newly fail in a decision, and why.
func (t *reported) failedIndexes(d decide.Decision) (e decide.Event) {
	if d.Status == nil || ptr.Deref(d.Status.FailedIndexes, "") == t.failed.String() {
		return e
	}
	var lines []string
	more := 0
	for r := range explain.Of(d).Indexes() {
		switch {
		case r.Code != explain.IndexFailed || r.Indexes.Difference(t.failed).IsEmpty():
			continue
		case len(lines) == maxIndexes:
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
	return decide.Event{Type: corev1.EventTypeWarning, Reason: "IndexFailed", Message: strings.Join(lines, "; ")}
}

func failedIndex(r explain.IndexReason) string {
	line := r.String()
	last := r.LastFailure
	if last.Pod != "" {
		line += fmt.Sprintf(": pod %s: %s", last.Pod, last.Fault)
	}
	if last.Match.Matched() {
		line += ": " + last.Match.Explain()
	}
	return line
}
