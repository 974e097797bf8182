package real

import (
	"slices"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

// Intervals is the controller's orderedIntervals. The controller assumes that it is sorted and
// disjoint, without a check; so does this package.
type Intervals []Interval

// An Interval holds the indexes from First to Last.
type Interval struct {
	First int
	Last  int
}

// ParseIndexes runs parseIndexesFromString.
func ParseIndexes(s string, completions int) Intervals {
	return parseIndexesFromString(logr.Discard(), s, completions)
}

// Total runs orderedIntervals.total.
func (x Intervals) Total() int { return intervalsTotal(x) }

// String runs orderedIntervals.String.
func (x Intervals) String() string { return intervalsString(x) }

// Has runs orderedIntervals.has.
func (x Intervals) Has(index int) bool { return intervalsHas(x, index) }

// Merge runs orderedIntervals.merge.
func (x Intervals) Merge(y Intervals) Intervals { return intervalsMerge(x, y) }

// FinishedTime is getFinishedTime.
//
//go:linkname FinishedTime k8s.io/kubernetes/pkg/controller/job.getFinishedTime
func FinishedTime(pod *corev1.Pod) time.Time

// CompletionIndex is getCompletionIndex. It returns -1 for no index.
//
//go:linkname CompletionIndex k8s.io/kubernetes/pkg/controller/job.getCompletionIndex
func CompletionIndex(annotations map[string]string) int

// PastBackoffLimitOnFailure is pastBackoffLimitOnFailure.
//
//go:linkname PastBackoffLimitOnFailure k8s.io/kubernetes/pkg/controller/job.pastBackoffLimitOnFailure
func PastBackoffLimitOnFailure(job *batchv1.Job, pods []*corev1.Pod) bool

// Remaining runs getRemainingTimeForFailuresCount. It returns the rest of the delay at the time now,
// after a number of failures, the last of which was at last.
func Remaining(now time.Time, base, limit time.Duration, failures int32, last *time.Time) time.Duration {
	return getRemainingTimeForFailuresCount(clocktesting.NewFakeClock(now), base, limit, failures, last)
}

// RemainingPerIndex runs getRemainingTimePerIndex. It returns the rest of the delay of an index at
// the time now. lastFailed is the last failed pod of the index, or nil if none has failed.
func RemainingPerIndex(now time.Time, base, limit time.Duration, lastFailed *corev1.Pod) time.Duration {
	return getRemainingTimePerIndex(logr.Discard(), clocktesting.NewFakeClock(now), base, limit, lastFailed)
}

// NextRecord runs newBackoffRecord on a store that holds old. A nil old means no record.
func NextRecord(old *Record, succeeded, failed []*corev1.Pod) Record {
	const key = "ns/job"
	store := newBackoffStore()
	remember(store, key, old)
	// The controller sorts both slices in place.
	next := newBackoffRecord(store, key, slices.Clone(succeeded), slices.Clone(failed))
	return Record{Failures: next.failuresAfterLastSuccess, LastFailure: next.lastFailureTime}
}

// NextIndexFailureCounts runs getNewIndexFailureCounts. It returns the values of the two annotations that a
// replacement inherits from the pod that it replaces.
func NextIndexFailureCounts(job *batchv1.Job, replaced *corev1.Pod) (counted, ignored int32) {
	return getNewIndexFailureCounts(logr.Discard(), job, replaced)
}

// A FailureMatch is the result of the pod failure policy for a failed pod.
type FailureMatch struct {
	Message string                         // why the Job fails; empty unless the action is FailJob
	Counted bool                           // the failure counts towards the backoff limits
	Action  batchv1.PodFailurePolicyAction // empty: no rule matched
}

// MatchFailurePolicy runs matchPodFailurePolicy.
func MatchFailurePolicy(policy *batchv1.PodFailurePolicy, failed *corev1.Pod) FailureMatch {
	message, counted, action := matchPodFailurePolicy(policy, failed)
	m := FailureMatch{Counted: counted}
	if message != nil {
		m.Message = *message
	}
	if action != nil {
		m.Action = *action
	}
	return m
}

// MatchSuccessPolicy runs matchSuccessPolicy, and returns the message of the rule that is met, or
// the empty string.
func MatchSuccessPolicy(policy *batchv1.SuccessPolicy, completions int32, succeeded Intervals) string {
	message, _ := matchSuccessPolicy(logr.Discard(), policy, completions, succeeded)
	return message
}
