package backoff_test

// What went wrong in the Job controller over the years, one test each. k#N is a
// thread of kubernetes/kubernetes.

import (
	"fmt"
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A record was kept under the name of the Job, and the next Job of that name
// inherited it.
func TestRecordBelongsToOneJob_k131917_k142142(t *testing.T) {
	first := backoff.Record{Job: "first", Failures: 5, LastFailure: t0}
	Same(t, "record of the same Job", first.For("first"), first)
	Same(t, fmt.Sprintf("%+v for another Job", first), first.For("second"), backoff.Record{Job: "second"})
	nameless := backoff.Record{Failures: 5, LastFailure: t0}
	Same(t, "a record that names no Job", nameless.For("second"), backoff.Record{Job: "second", Failures: 5, LastFailure: t0})
}

// Annotations can be edited. The counts of a replacement never fall, and their total does
// not wrap around to a negative number, which would end the delay.
func TestEditedAnnotations(t *testing.T) {
	for _, value := range []string{"2147483647", "2147483648", "-1", "-2147483648", "x", ""} {
		names := tracking.Keys{}.WithDefaults()
		before := classify.CountsOf(&names, map[string]string{
			batchv1.JobIndexFailureCountAnnotation: value, batchv1.JobIndexIgnoredFailureCountAnnotation: value,
		})
		for _, counted := range []bool{true, false} {
			after := before.Next(counted)
			if after.Failures < before.Failures || after.Ignored < before.Ignored {
				t.Errorf("annotations %q: %+v is followed by %+v, want no count to fall", value, before, after)
			}
			if delay := (backoff.Policy{}).Delay(after.Total()); delay < 10*time.Second {
				t.Errorf("annotations %q: the delay is %v after a failure", value, delay)
			}
		}
	}
}

// Requeues of the Job were counted as failures. Here the limit depends only on the number of
// failed pods.
func TestLimitDependsOnFailuresAlone_k70251_k92245_k60735(t *testing.T) {
	limit := backoff.LimitOf(&batchv1.JobSpec{BackoffLimit: new(int32(2))})
	for failed, want := range map[int32]bool{0: false, 1: false, 2: false, 3: true, math.MaxInt32: true} {
		for sync := range 3 {
			Same(t, fmt.Sprintf("sync %d: JobExceeded(%d) with limit 2", sync, failed), limit.JobExceeded(failed), want)
		}
	}
}

func remaining(r backoff.Record, now time.Time) time.Duration {
	return backoff.Policy{}.Remaining(r.Failures, r.LastFailure, now)
}

// A pod event reset the delay. Here the rest of the delay depends only on the finish times
// and the current time.
func TestEventsDoNotResetTheDelay_k114391_k114516(t *testing.T) {
	record := backoff.Record{Job: "uid"}.With(nil, seconds(0, 1))
	for elapsed := time.Duration(0); elapsed <= 20*time.Second; elapsed += time.Second {
		record = record.With(nil, nil) // an event without a finished pod
		now := at(1).Add(elapsed)
		Same(t, fmt.Sprint("remain after ", elapsed), remaining(record, now), 20*time.Second-elapsed)
	}
}

// A restart lost the delay. Here the record can be stored, or computed again from the pods.
func TestRestartDoesNotForgetTheDelay_k114650(t *testing.T) {
	record := backoff.Record{Job: "uid"}.
		With(nil, seconds(0)).
		With(seconds(1), seconds(2)).
		With(nil, seconds(3))
	rebuilt := backoff.Record{Job: "uid"}.With(seconds(1), seconds(3, 0, 2))
	for name, got := range map[string]backoff.Record{"loaded": stored(record), "rebuilt": rebuilt} {
		Same(t, name+" record", got, record)
		Same(t, name+" record: remain", remaining(got, at(3).Time), 20*time.Second)
	}
}

// The finish time of a pod fell back to the current time, and so moved forward forever.
func TestFinishTimeNeverFallsBackToNow_k118413(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp:          at(1),
			DeletionTimestamp:          new(at(40)),
			DeletionGracePeriodSeconds: new(int64(30)),
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodFailed,
			ContainerStatuses: []corev1.ContainerStatus{finished("main", at(3))},
			Conditions:        []corev1.PodCondition{ready(corev1.ConditionFalse, at(5))},
		},
	}
	for _, step := range []struct {
		lost string
		lose func()
		want metav1.Time
	}{
		{"no field", func() {}, at(3)},
		{"the container's end", func() { pod.Status.ContainerStatuses[0] = running("main") }, at(5)},
		{"the condition", func() { pod.Status.Conditions = nil }, at(10)},
		{"the deletion", func() { pod.DeletionTimestamp = nil }, at(1)},
		{"the creation", func() { pod.CreationTimestamp = metav1.Time{} }, metav1.Time{}},
	} {
		step.lose()
		if got := backoff.FinishTime(pod); !got.Equal(step.want.Time) {
			t.Errorf("without %s: FinishTime = %v, want %v", step.lost, got, step.want)
		}
	}
}

// The restart policy OnFailure compares a sum of restarts with the limit. It is
// off by one at 0: both 0 and 1 allow no restart at all.
func TestOnFailureSumsRestarts_k54870_k67859_k95438(t *testing.T) {
	for _, tc := range []struct {
		limit int32
		sum   int64
		want  bool
	}{
		{0, 0, false}, {0, 1, true}, {0, 2, true},
		{1, 0, false}, {1, 1, true}, {1, 2, true},
		{6, 5, false}, {6, 6, true}, {6, 7, true},
		{math.MaxInt32, math.MaxInt32 - 1, false}, {math.MaxInt32, math.MaxInt32, true},
		{6, 2 * (math.MaxInt32 + 1), true}, // an int32 sum would be 0 again
		{6, math.MaxInt64, true},
	} {
		Same(t, fmt.Sprintf("limit %d: RestartsExceeded(%d)", tc.limit, tc.sum), (backoff.Limit{PerJob: tc.limit}).RestartsExceeded(tc.sum), tc.want)
	}
}

// KEP-3850: "using the annotation value means that failed pods matching the
// Ignore rule are skipped in the calculation" of the delay. The Job controller
// has since gained the second annotation, so that the delay of an index grows
// with them too. They still do not count towards the limit.
func TestIgnoredFailuresDelayButDoNotExhaust(t *testing.T) {
	pod := classify.Counts{Failures: 1, Ignored: 1}
	Same(t, "delay", (backoff.Policy{}).Delay(pod.Total()+1), 40*time.Second)
	Same(t, "an ignored failure counts towards the limit",
		(backoff.Limit{Target: backoff.TargetIndex, PerIndex: 2}).IndexExhausted(pod.Failures), false)
}
