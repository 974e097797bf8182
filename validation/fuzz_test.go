package validation

import (
	"encoding/json"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// bits is a source of small random values: each take removes the low bits of the number.
type bits uint64

func (b *bits) take(n int) int64 {
	low := *b & (1<<n - 1)
	*b >>= n
	return int64(low)
}

func (b *bits) flag() bool { return b.take(1) == 1 }

// small returns a count from -2 to 5.
func (b *bits) small() int32 { return int32(b.take(3)) - 2 }

func optional[T any](b *bits, v T) *T {
	if b.flag() {
		return nil
	}
	return &v
}

// time returns no time, the zero time, or one of a few half seconds.
func (b *bits) time() *metav1.Time {
	switch n := b.take(3); n {
	case 0:
		return nil
	case 1:
		return &metav1.Time{}
	default:
		return &metav1.Time{Time: time.Unix(0, n*int64(time.Second/2))}
	}
}

func (b *bits) uids() []types.UID {
	var uids []types.UID
	for range b.take(2) {
		uids = append(uids, [...]types.UID{"", "a", "b", "c"}[b.take(2)])
	}
	return uids
}

// statusOf makes a status from two numbers and two lists of indexes.
func statusOf(counts, shape uint64, completedIndexes, failedIndexes string) batchv1.JobStatus {
	c, s := bits(counts), bits(shape)
	status := batchv1.JobStatus{
		Active: c.small(), Succeeded: c.small(), Failed: c.small(),
		Ready: optional(&c, c.small()), Terminating: optional(&c, c.small()),
		CompletedIndexes: completedIndexes, FailedIndexes: optional(&c, failedIndexes),
		StartTime: c.time(), CompletionTime: c.time(),
	}
	if s.flag() {
		status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: s.uids(), Failed: s.uids()}
	}
	for _, kind := range []batchv1.JobConditionType{complete, failed, target, criteria, suspendedCond} {
		if n := s.take(2); n > 0 {
			status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: [...]corev1.ConditionStatus{"", "True", "False", "True"}[n]})
		}
	}
	return status
}

// specOf makes a spec from completions and a number.
func specOf(completions int32, shape uint64) batchv1.JobSpec {
	b := bits(shape)
	spec := batchv1.JobSpec{
		Completions: optional(&b, completions), Parallelism: optional(&b, completions),
		BackoffLimitPerIndex: optional(&b, b.small()), Suspend: optional(&b, b.flag()),
	}
	if b.flag() {
		spec.CompletionMode = new(batchv1.IndexedCompletion)
	}
	if b.flag() {
		spec.SuccessPolicy = &batchv1.SuccessPolicy{}
	}
	return spec
}

func FuzzStatusUpdate(f *testing.F) {
	f.Fuzz(func(t *testing.T, completions int32, spec, wasCounts, wasShape, nowCounts, nowShape uint64, wasCompleted, wasFailed, nowCompleted, nowFailed string) {
		old := &batchv1.Job{Spec: specOf(completions, spec), Status: statusOf(wasCounts, wasShape, wasCompleted, wasFailed)}
		job := &batchv1.Job{Spec: specOf(completions, spec), Status: statusOf(nowCounts, nowShape, nowCompleted, nowFailed)}
		statusUpdateHolds(t, job, old)
	})
}

// FuzzJob decodes a Job and its old version from any JSON, so it reaches Jobs that anyJob does not
// draw.
func FuzzJob(f *testing.F) {
	f.Fuzz(func(t *testing.T, jobText, oldText string) {
		var job, old batchv1.Job
		if json.Unmarshal([]byte(jobText), &job) == nil && json.Unmarshal([]byte(oldText), &old) == nil {
			anythingGoes(t, &job, &old)
		}
	})
}
