package backoff_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestLimitOf(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *batchv1.JobSpec
		want backoff.Limit
	}{
		"nil":           {nil, backoff.Limit{Target: backoff.TargetJob, PerJob: 6}},
		"not defaulted": {&batchv1.JobSpec{}, backoff.Limit{Target: backoff.TargetJob, PerJob: 6}},
		"zero":          {&batchv1.JobSpec{BackoffLimit: new(int32(0))}, backoff.Limit{Target: backoff.TargetJob}},
		// KEP-3850: "when .spec.backoffLimitPerIndex is specified, then we default
		// .spec.backoffLimit to max int32 value".
		"per index": {&batchv1.JobSpec{BackoffLimitPerIndex: new(int32(1))},
			backoff.Limit{Target: backoff.TargetIndex, PerJob: math.MaxInt32, PerIndex: 1}},
		// KEP-3850: "We allow to specify custom .spec.backoffLimit and
		// .spec.backoffLimitPerIndex."
		"both": {&batchv1.JobSpec{BackoffLimit: new(int32(9)), BackoffLimitPerIndex: new(int32(0))},
			backoff.Limit{Target: backoff.TargetIndex, PerJob: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			Same(t, "LimitOf", backoff.LimitOf(tc.spec), tc.want)
		})
	}
}

// KEP-3850: "the value of the annotation batch.kubernetes.io/job-index-failure-count
// is greater or equal to the configured backoff limit per index then the index
// is marked as failed".
func TestIndexExhausted(t *testing.T) {
	index := backoff.Limit{Target: backoff.TargetIndex, PerIndex: 2}
	for failures, want := range map[int32]bool{0: false, 1: false, 2: true, 3: true, math.MaxInt32: true} {
		Same(t, fmt.Sprintf("limit 2: IndexExhausted(%d)", failures), index.IndexExhausted(failures), want)
	}
	Same(t, "a limit per Job exhausts an index", (backoff.Limit{Target: backoff.TargetJob}).IndexExhausted(math.MaxInt32), false)
	Same(t, "the zero Limit exhausts an index", (backoff.Limit{}).IndexExhausted(0), false)
}

// Blog, Kubernetes 1.28: "indexes 1 and 2 were both retried once. After the
// second failure, in each of them, the specified .spec.backoffLimitPerIndex was
// exceeded, so the retries were stopped."
func TestBackoffLimitPerIndexOfOneRetriesOnce(t *testing.T) {
	limit := backoff.LimitOf(&batchv1.JobSpec{BackoffLimitPerIndex: new(int32(1))})
	pod := classify.Counts{}
	pods := 1
	for !limit.IndexExhausted(pod.Failures) {
		pod = pod.Next(true)
		pods++
	}
	Same(t, "pods", pods, 2)
}

func TestRestarts(t *testing.T) {
	pod := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{
			Phase:                 phase,
			InitContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}, {RestartCount: math.MaxInt32}},
			ContainerStatuses:     []corev1.ContainerStatus{{RestartCount: 20}, {RestartCount: 300}},
		}}
	}
	for phase, want := range map[corev1.PodPhase]int64{
		corev1.PodRunning:   321 + math.MaxInt32,
		corev1.PodPending:   321 + math.MaxInt32,
		corev1.PodFailed:    0,
		corev1.PodSucceeded: 0,
		corev1.PodUnknown:   0,
		"":                  0,
	} {
		Same(t, fmt.Sprintf("Restarts of a pod %q", phase), backoff.Restarts(pod(phase)), want)
	}
	Same(t, "Restarts(nil)", backoff.Restarts(nil), 0)
	Same(t, "FinishTime(nil)", backoff.FinishTime(nil), time.Time{})
	running := pod(corev1.PodRunning)
	Same(t, "allocations of Restarts", testing.AllocsPerRun(100, func() { backoff.Restarts(running) }), 0)
}
