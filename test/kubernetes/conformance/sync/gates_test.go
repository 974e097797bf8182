package sync

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
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
	c := newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) }))
	off := []featuregate.Feature{features.MutableSchedulingDirectivesForSuspendedJobs}
	if st := switched(c, nil, off).Statuses()[0]; st.StartTime == nil {
		t.Error("the real controller removes the start time with the gate off")
	}
	us := mustDecide(t, c)
	if diff := cmp.Diff(newRun(c).outcome, us.out); diff != "" {
		t.Errorf("with the gate on (-real +jobfate):\n%s", diff)
	}
	if st := us.decision.Status; st.StartTime != nil {
		t.Errorf("jobfate: got start time %s, want none", st.StartTime)
	}
	// When the Job is resumed, both sides set a new start time.
	for _, kept := range []*metav1.Time{new(at(-60)), nil} {
		resumed := newTrial(conditions(batchv1.JobSuspended, corev1.ConditionTrue),
			onJob(func(j *batchv1.Job) { j.Status.StartTime = kept }))
		us := mustDecide(t, resumed)
		them := switched(resumed, nil, off).Statuses()[0].StartTime
		if want := new(at(0)); !them.Equal(want) || !us.decision.Status.StartTime.Equal(want) {
			t.Errorf("resumed with start time %v: the real controller writes %v, jobfate %v, want %v",
				kept, them, us.decision.Status.StartTime, want)
		}
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, off[0], false)
	accepted(t, c, us)
}

// With WorkloadWithJob on, the real controller creates a Workload and a PodGroup for a new Job, and the
// pods name the PodGroup: in 1.36 for an Indexed Job whose pods all run at once, from 1.37
// on for every Job without a controller and without a group of its own, whatever its spec.scheduling. A Job with a
// controller gets a PodGroup if its annotation names a group of the controller's Workload; from 1.38 on it waits until
// there is such a group, and spec.scheduling gives it both. Nothing else changes, and jobfate creates neither.
func TestDivergence_workloads(t *testing.T) {
	fresh := onJob(func(j *batchv1.Job) { j.Status.StartTime = nil })
	owned := onJob(func(j *batchv1.Job) {
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "a.b/v1", Kind: "Set", Name: "set", UID: "set", Controller: new(true)}}
	})
	member := func(group string) func(*trial) {
		return onJob(func(j *batchv1.Job) {
			j.Annotations = map[string]string{"scheduling.k8s.io/workload-name": "parent", "scheduling.k8s.io/group-template-name": group}
		})
	}
	grouped := onJob(func(j *batchv1.Job) {
		j.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("own")}
	})
	gang := onJob(func(j *batchv1.Job) { // the types of 1.36 lack the field
		if err := json.Unmarshal([]byte(`{"scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}}`), &j.Spec); err != nil {
			panic(err)
		}
	})
	suspended := onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	both, one := []real.Kind{real.CreateWorkload, real.CreatePodGroup}, []real.Kind{real.CreatePodGroup}
	from37, one37, from38 := both, one, both
	if kubernetes.Minor() < 37 {
		from37, one37 = nil, nil
	}
	if kubernetes.Minor() < 38 {
		from38 = nil
	}
	const unknown = "another group of its controller's Workload"
	for _, c := range []struct {
		name  string
		trial *trial
		want  []real.Kind // what the real controller creates
	}{
		{"Indexed, all pods at once", newTrial(size(2, 2), onJob(byIndex), fresh), both},
		{"Indexed, one by one", newTrial(size(1, 2), onJob(byIndex), fresh), from37},
		{"not Indexed", newTrial(size(2, 2), fresh), from37},
		{"not Indexed, a gang", newTrial(size(2, 2), fresh, gang), from37},
		{"suspended", newTrial(size(2, 2), fresh, gang, suspended), from37},
		{"started", newTrial(size(2, 2), gang), nil},
		{"with a controller", newTrial(size(2, 2), fresh, owned), nil},
		{"a group of its controller's Workload", newTrial(size(2, 2), fresh, owned, member("parent")), one37},
		{"with a controller, a gang", newTrial(size(2, 2), fresh, owned, gang), from38},
		{unknown, newTrial(size(2, 2), fresh, owned, member("other")), nil},
		{"with a group of its own", newTrial(size(2, 2), onJob(byIndex), fresh, grouped), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			off, on := newRun(c.trial).outcome, switched(c.trial, []featuregate.Feature{features.WorkloadWithJob}, nil)
			if c.name == unknown && kubernetes.Minor() >= 38 {
				if on.Err == nil || len(on.Created()) != 0 {
					t.Errorf("the real controller with the gate on: error %v, %d pods, want an error and none", on.Err, len(on.Created()))
				}
				return
			}
			var objects []real.Kind
			for _, call := range on.Calls {
				if call.Kind == real.CreateWorkload || call.Kind == real.CreatePodGroup {
					objects = append(objects, call.Kind)
				}
			}
			Same(t, "objects that the real controller makes with the gate on", objects, c.want)
			own := c.trial.snapshot.Job.Spec.Template.Spec.SchedulingGroup
			for _, pod := range on.Created() {
				if joined := pod.Spec.SchedulingGroup != nil; joined != (c.want != nil || own != nil) {
					t.Errorf("the real controller with the gate on: pod %s is in a scheduling group: %t", pod.GenerateName, joined)
				}
				if len(pod.OwnerReferences) != 1 { // its template has the PodGroup too, which GetPodFromTemplate drops
					t.Errorf("the real controller with the gate on: owners %v, want the Job alone", pod.OwnerReferences)
				}
			}
			Same(t, "pods with the gate on, as with it off", len(on.Created()), len(off.Creations))
			last := off.Statuses[len(off.Statuses)-1].Status
			if diff := cmp.Diff(last, on.Statuses()[len(on.Statuses())-1]); diff != "" {
				t.Errorf("the gate changes the status (-off +on):\n%s", diff)
			}
			sameOnBothSides(t, c.trial) // with the gate off
		})
	}
}
