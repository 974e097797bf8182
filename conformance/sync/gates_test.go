package sync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	"github.com/jobfate/jobfate/conformance/real"
)

// switched runs one sync of the real controller with some gates on or off.
func switched(c *trial, on, off []featuregate.Feature) real.Output {
	gates.Lock()
	defer gates.Unlock()
	in := c.input()
	in.On, in.Off = on, off
	return real.Sync(in)
}

// With MutableSchedulingDirectivesForSuspendedJobs off, the real controller keeps the start time of a
// suspended Job. jobfate removes it, as with the gate on, and the API server also accepts that with
// the gate off.
func TestDivergence_startTimeOfASuspendedJob(t *testing.T) {
	c := newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = ptr(true) }))
	off := []featuregate.Feature{features.MutableSchedulingDirectivesForSuspendedJobs}
	if st := switched(c, nil, off).Statuses()[0]; st.StartTime == nil {
		t.Error("the real controller removes the start time with the gate off")
	}
	us, err := decide(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(newRun(c).outcome, us.out); diff != "" {
		t.Errorf("with the gate on (-real +jobfate):\n%s", diff)
	}
	if st := us.decision.Status; st.StartTime != nil {
		t.Errorf("jobfate: got start time %s, want none", st.StartTime)
	}
	// When the Job is resumed, both sides set a new start time.
	for _, kept := range []*metav1.Time{ptr(at(-60)), nil} {
		resumed := newTrial(conditions(batchv1.JobSuspended, corev1.ConditionTrue),
			onJob(func(j *batchv1.Job) { j.Status.StartTime = kept }))
		us, err := decide(resumed)
		if err != nil {
			t.Fatal(err)
		}
		them := switched(resumed, nil, off).Statuses()[0].StartTime
		if want := ptr(at(0)); !them.Equal(want) || !us.decision.Status.StartTime.Equal(want) {
			t.Errorf("resumed with start time %v: the real controller writes %v, jobfate %v, want %v",
				kept, them, us.decision.Status.StartTime, want)
		}
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, off[0], false)
	accepted(t, c, us)
}

// With WorkloadWithJob on, the real controller creates a Workload and a PodGroup for a Job whose pods
// must be scheduled together, and the pods name the PodGroup.
func TestDivergence_workloads(t *testing.T) {
	c := newTrial(size(2, 2), onJob(func(j *batchv1.Job) { byIndex(j); j.Status.StartTime = nil }))
	out := switched(c, []featuregate.Feature{features.WorkloadWithJob}, nil)
	var kinds []real.Kind
	for _, call := range out.Calls {
		kinds = append(kinds, call.Kind)
	}
	want := []real.Kind{real.CreateWorkload, real.CreatePodGroup, real.Create, real.Create, real.WriteStatus}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("the real controller with the gate on (-want +got):\n%s", diff)
	}
	for _, pod := range out.Created() {
		if pod.Spec.SchedulingGroup == nil {
			t.Errorf("the real controller with the gate on creates pod %s without a scheduling group", pod.GenerateName)
		}
	}
	us, err := decide(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, creation := range us.decision.Create {
		if group := creation.Pod().Spec.SchedulingGroup; group != nil {
			t.Errorf("jobfate creates a pod with scheduling group %v, want none", group)
		}
	}
	if diff := cmp.Diff(newRun(c).outcome, us.out); diff != "" {
		t.Errorf("with the gate off (-real +jobfate):\n%s", diff)
	}
}
