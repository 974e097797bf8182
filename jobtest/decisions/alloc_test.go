package decisions

import (
	"math"
	"runtime"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest/decidetest"
)

// allocated returns the number of allocations of f, and their bytes. The counters are those
// of the whole process. Goroutines that earlier tests left behind can only add to them, so
// the minimum of several measurements is the value of f.
func allocated(f func()) (count, bytes uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f()
	count, bytes = math.MaxUint64, math.MaxUint64
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		count = min(count, after.Mallocs-before.Mallocs)
		bytes = min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return count, bytes
}

// A decision allocates a page for 16 indexes, and at most 48 times besides that and its result, and
// at most 128 bytes for each pod.
func TestDecide_allocations(t *testing.T) {
	const n = 1000
	for _, tc := range atRest {
		s := largeJob(n, tc.perIndex, tc.state)
		tc.spec(&s.Job.Spec)
		s = settled(t, s)
		count, bytes := allocated(func() { decidetest.MustDecide(t, s) })
		if count > n/16+48 {
			t.Errorf("%s: got %d allocations, want at most %d", tc.name, count, n/16+48)
		}
		if perPod := float64(bytes) / n; perPod > 128 {
			t.Errorf("%s: got %.1f bytes a pod, want at most 128", tc.name, perPod)
		}
	}
}

// The cost of a decision does not depend on completions.
func TestDecide_completionsDoNotMatter(t *testing.T) {
	for _, state := range []func(int, *corev1.Pod){running, failedJustNow} {
		s := largeJob(1000, true, state)
		usage := func(completions int32) [2]uint64 {
			job := s.Job.DeepCopy()
			job.Spec.Completions = &completions
			with := s
			with.Job = job
			count, bytes := allocated(func() { decidetest.MustDecide(t, with) })
			return [2]uint64{count, bytes}
		}
		few, many := usage(100_000), usage(1<<31-1)
		if few != many {
			t.Errorf("allocations and bytes: got %v with 2^31-1 completions, want %v as with 10^5", many, few)
		}
		if many[1] >= 1e6 {
			t.Errorf("got %d bytes, want less than 1 MB", many[1])
		}
	}
}

// settled stores the status of the decision in the snapshot, and repeats that until nothing
// changes any more.
func settled(t *testing.T, s jobfate.Snapshot) jobfate.Snapshot {
	t.Helper()
	for range 10 {
		d, err := jobfate.Decide(s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Idle() {
			return s
		}
		s.Job = s.Job.DeepCopy()
		for _, pod := range d.Strip {
			pod.Finalizers = nil
		}
		if d.Status != nil {
			s.Job.Status = *d.Status
		}
		if st := decidetest.Settle(d, d.Strip...).Status; st != nil {
			s.Job.Status = *st
		}
		s.Backoff = d.Backoff
	}
	t.Fatal("the decisions keep changing the status")
	return s
}

// atRest lists the states of a large Job in which a decision changes nothing.
var atRest = []struct {
	name     string
	perIndex bool
	state    func(int, *corev1.Pod)
	spec     func(*batchv1.JobSpec)
}{
	{"running", false, running, asItIs},
	{"running, per index", true, running, asItIs},
	{"backing off", false, failedJustNow, asItIs},
	{"backing off, per index", true, failedJustNow, asItIs},
	{"half completed", true, everySecondSucceeded, asItIs},
	{"complete", false, func(_ int, pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, asItIs},
	{"not indexed", false, running, func(s *batchv1.JobSpec) { s.CompletionMode = nil }},
	{"pod failure policy", true, failedJustNow, withFailurePolicy},
	{"success policy", false, everySecondSucceeded, withSuccessPolicy},
	{"a custom label", false, running, func(s *batchv1.JobSpec) { s.Selector.MatchLabels[batchv1.JobNameLabel] = "job" }},
}

func asItIs(*batchv1.JobSpec) {}

func withFailurePolicy(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42, 43}}},
		{Action: batchv1.PodFailurePolicyActionCount, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new("main"), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{7}}},
	}}
}

func withSuccessPolicy(s *batchv1.JobSpec) {
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
		{SucceededIndexes: new("1,3-5"), SucceededCount: new(int32(2))},
		{SucceededCount: new(*s.Completions)},
	}}
}

func everySecondSucceeded(i int, pod *corev1.Pod) {
	if i%2 == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
}

// Explaining one index does not explain the others.
func TestIndex_allocatesForOne(t *testing.T) {
	of := func(indexes int) uint64 {
		d := decidetest.MustDecide(t, largeJob(indexes, true, failedJustNow))
		n, _ := allocated(func() { explain.Of(d).Index(5) })
		return n
	}
	if few, many := of(10), of(1000); many > few+few/2 {
		t.Errorf("explaining one of 1000 indexes takes %d allocations, one of 10 takes %d", many, few)
	}
}
