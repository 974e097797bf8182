package jobstatus_test

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

func TestExpiresAt(t *testing.T) {
	const finished = -9 // when the conditions of these tests became true
	at := func(seconds int) time.Time { return After(seconds).Time }
	job := func(ttl int32, conditions ...batchv1.JobCondition) *batchv1.Job {
		job := WithConditions(conditions...)
		job.Spec.TTLSecondsAfterFinished = &ttl
		return job
	}
	with := func(job *batchv1.Job, change func(*batchv1.Job)) *batchv1.Job {
		change(job)
		return job
	}
	for _, tc := range []struct {
		reason string
		job    *batchv1.Job
		want   time.Time // zero: it does not expire
	}{
		{"complete", job(100, Yes(batchv1.JobComplete)), at(100 + finished)},
		{"failed", job(100, Yes(batchv1.JobFailureTarget), Yes(batchv1.JobFailed)), at(100 + finished)},
		{"at once", job(0, Yes(batchv1.JobComplete)), at(finished)},
		{"the longest TTL", job(math.MaxInt32, Yes(batchv1.JobComplete)), at(finished).Add(math.MaxInt32 * time.Second)},
		{"the first terminal condition counts", job(100, Yes(batchv1.JobFailed), func() batchv1.JobCondition {
			later := Yes(batchv1.JobComplete)
			later.LastTransitionTime = After(50)
			return later
		}()), at(100 + finished)},
		{"the completion time does not count", with(job(100, Yes(batchv1.JobComplete)), func(j *batchv1.Job) {
			j.Status.CompletionTime = new(After(50))
		}), at(100 + finished)},
		{"decided but not finished", job(100, Yes(batchv1.JobFailureTarget)), time.Time{}},
		{"a condition that is not True", job(100, No(batchv1.JobComplete)), time.Time{}},
		{"no TTL", WithConditions(Yes(batchv1.JobComplete)), time.Time{}},
		{"being deleted", with(job(100, Yes(batchv1.JobComplete)), func(j *batchv1.Job) { j.DeletionTimestamp = new(After(0)) }), time.Time{}},
		{"no time in the condition", job(100, func() batchv1.JobCondition {
			c := Yes(batchv1.JobComplete)
			c.LastTransitionTime = metav1.Time{}
			return c
		}()), time.Time{}},
		{"no Job", nil, time.Time{}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, ok := jobstatus.ExpiresAt(tc.job)
			if ok == tc.want.IsZero() || !got.Equal(tc.want) {
				t.Errorf("got %v, %t, want %v", got, ok, tc.want)
			}
		})
	}
}
