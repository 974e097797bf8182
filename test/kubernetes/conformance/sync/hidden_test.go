package sync

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// The divergence hidden-condition: how it is drawn, excused and pinned.

// A hidden condition is True, but comes after the first condition of its type, which is not.
type hidden struct{ first, behind int }

func (h hidden) swap(conditions []batchv1.JobCondition) {
	conditions[h.first], conditions[h.behind] = conditions[h.behind], conditions[h.first]
}

// hiddenOf returns the hidden condition of a type, and whether there is one.
func hiddenOf(st *batchv1.JobStatus, kind batchv1.JobConditionType) (hidden, bool) {
	h := hidden{
		first: slices.IndexFunc(st.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind }),
		behind: slices.IndexFunc(st.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == corev1.ConditionTrue
		}),
	}
	return h, h.first < h.behind
}

// hiddenVerdicts returns the hidden conditions that decide how the Job ends.
func hiddenVerdicts(st *batchv1.JobStatus) (all []hidden) {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if h, ok := hiddenOf(st, kind); ok {
			all = append(all, h)
		}
	}
	return all
}

// hideConditions puts a condition that is not True in front of a True one of the
// same type.
func hideConditions(t *rapid.T, st *batchv1.JobStatus) {
	for _, kind := range conditionTypes {
		at := slices.IndexFunc(st.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == kind && c.Status == corev1.ConditionTrue
		})
		if at < 0 || !chance(t, 25, "hidden "+string(kind)) {
			continue
		}
		hiding := st.Conditions[at]
		hiding.Status = rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown}).Draw(t, "status")
		hiding.Reason = "NotYet"
		st.Conditions = slices.Insert(st.Conditions, rapid.IntRange(0, at).Draw(t, "place"), hiding)
	}
}

// conditionTypes lists all types of conditions of a Job.
var conditionTypes = []batchv1.JobConditionType{
	batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobComplete, batchv1.JobSuspended,
}

// showConditions swaps each hidden FailureTarget and SuccessCriteriaMet with the condition that hides
// it.
func showConditions(d *dispute) bool {
	pairs := hiddenVerdicts(d.stored)
	for _, p := range pairs {
		p.swap(d.them.in.Job.Status.Conditions)
	}
	return len(pairs) > 0
}

// hideConditionsAgain puts the conditions back into the order that they had before
// showConditions. The controller only appends conditions and overwrites them.
func hideConditionsAgain(d *dispute) bool {
	pairs := hiddenVerdicts(d.stored)
	return d.each(func(st *batchv1.JobStatus) bool {
		for _, p := range pairs {
			p.swap(st.Conditions)
		}
		return len(pairs) > 0
	})
}

// While a pod terminates, each sync of the real controller appends one more
// FailureTarget; the API server stores them all. jobfate finds the existing one.
func TestDivergence_hiddenConditionIsAppendedAgain(t *testing.T) {
	c := newTrial(size(1, 1), conditions(batchv1.JobFailureTarget, corev1.ConditionFalse, corev1.ConditionTrue),
		pod("a", corev1.PodRunning, func(p *corev1.Pod) { p.DeletionTimestamp = new(at(-1)) }),
		onJob(func(j *batchv1.Job) {
			j.Spec.PodReplacementPolicy = new(batchv1.Failed)
			j.Status.Failed, j.Status.Terminating = 7, new(int32(1))
		}))
	for _, call := range mustDecide(t, c).out.Statuses {
		if n := len(call.Status.Conditions); n > 2 {
			t.Errorf("jobfate writes %d conditions, want no more than the 2 that were there", n)
		}
	}
	in := c.input()
	in.Validate = true
	for want := 3; want <= 5; want++ {
		stored := real.Sync(in).Statuses()
		if len(stored) == 0 {
			t.Fatalf("the real controller stores no status; want the one with condition %d", want)
		}
		in.Job.Status = *stored[len(stored)-1]
		if n := len(in.Job.Status.Conditions); n != want {
			t.Errorf("the real controller: got %d conditions, want %d", n, want)
		}
	}
}
