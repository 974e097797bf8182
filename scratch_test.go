package jobfate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest"
)

// told is all that a decision says, when it is asked at once.
type told struct {
	Decision jobfate.Decision
	Job      jobfate.Reason
	Indexes  []string
	Notes    []jobfate.Note
	Revised  jobfate.Decision
	Settled  jobfate.Settlement
}

func tell(d jobfate.Decision) told {
	t := told{Decision: d, Job: d.Why.Job(), Notes: d.Why.Notes(), Settled: d.Settle(d.Strip...)}
	for r := range d.Why.Indexes() {
		t.Indexes = append(t.Indexes, r.String())
	}
	t.Revised = d.Revise(jobfate.Done{NotCreated: len(d.Create) / 2})
	return t
}

// differs compares what was said, but for where it is kept.
func differs(want, got told) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreUnexported(jobfate.Decision{}, jobfate.Settlement{}, jobfate.Explanation{}, jobfate.Claim{}, jobfate.Deletion{}))
}

// "No decision depends on what a Scratch was used for before."
// "The fields of a Decision never point into a Scratch and stay as they are."
func TestScratch_decidesAlike(t *testing.T) {
	var scratch jobfate.Scratch
	rapid.Check(t, func(t *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(t, "snapshot")
		plain, plainErr := jobfate.Decide(s)
		d, err := scratch.Decide(s)
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("got error %v, want %v", err, plainErr)
		}
		want, got := tell(plain), tell(d)
		if diff := differs(want, got); diff != "" {
			t.Fatalf("with a Scratch (-without +with):\n%s", diff)
		}
		// Other work in the same memory.
		if _, err := scratch.Decide(jobtest.Snapshots(jobtest.Wild()).Draw(t, "another")); err != nil {
			t.Fatalf("Decide: %v", err)
		}
		if diff := differs(want, got); diff != "" {
			t.Fatalf("after the Scratch was used again (-before +after):\n%s", diff)
		}
	})
}

// "Called later they do no harm. Revise then asks for nothing but to look again,
// Settle settles nothing, and Why knows nothing."
func TestScratch_usedAgain(t *testing.T) {
	var scratch jobfate.Scratch
	s := largeJob(20, true, func(i int, pod *corev1.Pod) {
		if i < 5 {
			pod.Status.Phase = corev1.PodSucceeded
		}
	})
	d, err := scratch.Decide(s)
	if err != nil || d.Status == nil || len(d.Strip) != 5 {
		t.Fatalf("Decide = %v, %v, want a status and 5 pods to strip", d, err)
	}
	for what, again := range map[string]jobfate.Snapshot{"another Job": largeJob(3, false, running), "no Job": {}} {
		if _, err := scratch.Decide(again); (err != nil) != (again.Job == nil) {
			t.Fatalf("%s: %v", what, err)
		}
		if r := d.Revise(jobfate.Done{}); !r.Idle() || r.Requeue != time.Second {
			t.Errorf("%s: Revise = %v, want nothing but to look again in 1 s", what, r)
		}
		if st := d.Settle(d.Strip...); st.Status != nil || st.Finished || len(st.Metrics) > 0 {
			t.Errorf("%s: Settle = %v, want nothing", what, st)
		}
		if r := d.Why.Job(); r != (jobfate.Reason{}) {
			t.Errorf("%s: Why.Job = %v, want none", what, r)
		}
		for r := range d.Why.Indexes() {
			t.Errorf("%s: Why.Indexes has %v, want none", what, r)
		}
		if r := d.Why.Index(0); r.Code != jobfate.IndexUnknown {
			t.Errorf("%s: Why.Index = %v, want unknown", what, r)
		}
		if notes := d.Why.Notes(); notes != nil {
			t.Errorf("%s: Why.Notes = %v, want none", what, notes)
		}
		if d.Status.CompletedIndexes != "0-4" {
			t.Errorf("%s: the status now says %q, want 0-4", what, d.Status.CompletedIndexes)
		}
	}
}

func TestScratch_nil(t *testing.T) {
	d, err := (*jobfate.Scratch)(nil).Decide(largeJob(3, false, running))
	if err != nil || d.Why.Job().Code != jobfate.JobRunning {
		t.Errorf("Decide with a nil Scratch = %v, %v, want running", d.Why.Job(), err)
	}
}

// settled returns the snapshot with what its decision stores, as often as it
// takes until nothing changes any more.
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
		if st := d.Settle(d.Strip...).Status; st != nil {
			s.Job.Status = *st
		}
		s.Backoff = d.Backoff
	}
	t.Fatal("the Job does not come to rest")
	return s
}

// The states in which a large Job rests.
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
	{"not indexed", false, running, notIndexed},
	{"pod failure policy", true, failedJustNow, withFailurePolicy},
	{"success policy", false, everySecondSucceeded, withSuccessPolicy},
	{"a label of its own", false, running, func(s *batchv1.JobSpec) { s.Selector.MatchLabels[batchv1.JobNameLabel] = "job" }},
}

func asItIs(*batchv1.JobSpec) {}

func notIndexed(s *batchv1.JobSpec) { s.CompletionMode = nil }

func withFailurePolicy(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42, 43}}},
		{Action: batchv1.PodFailurePolicyActionCount, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: ptrTo("main"), Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{7}}},
	}}
}

func withSuccessPolicy(s *batchv1.JobSpec) {
	s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
		{SucceededIndexes: ptrTo("1,3-5"), SucceededCount: ptrTo(int32(2))},
		{SucceededCount: ptrTo(*s.Completions)},
	}}
}

func everySecondSucceeded(i int, pod *corev1.Pod) {
	if i%2 == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
}

func restingJob(t *testing.T, at int, n int) jobfate.Snapshot {
	t.Helper()
	s := largeJob(n, atRest[at].perIndex, atRest[at].state)
	atRest[at].spec(&s.Job.Spec)
	return settled(t, s)
}

// "with it, a decision that changes nothing allocates nothing"
func TestScratch_allocatesNothing(t *testing.T) {
	for at, tc := range atRest {
		s := restingJob(t, at, 1000)
		var scratch jobfate.Scratch
		opts := []jobfate.Option{jobfate.FillFreeSlots()}
		use := func() {
			if d, err := scratch.Decide(s, opts...); err != nil || !d.Idle() {
				t.Fatalf("%s: Decide = %v, %v, want nothing to do", tc.name, d, err)
			}
		}
		use() // finds out how much room it takes
		use() // makes it
		if n := testing.AllocsPerRun(5, use); n != 0 {
			t.Errorf("%s: got %v allocations with a Scratch, want none", tc.name, n)
		}
	}
}
