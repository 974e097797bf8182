package counting_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking/counting"
)

func patched(t counting.Transition) []types.UID {
	return Each(t.Pods, func(p counting.PodPatch) types.UID { return p.Pod.UID })
}

// KEP-2307 § Upgrade / Downgrade Strategy: "It removes finalizers from the Pods
// owned by it and the annotation from the Job. Sets
// .status.uncountedTerminatedPods to nil."
func TestLeaveTracking(t *testing.T) {
	job := NewJob()
	job.ResourceVersion = "12"
	job.Annotations = map[string]string{batchv1.JobTrackingFinalizer: ""}
	job.Status = batchv1.JobStatus{Active: 1, Succeeded: 2, Failed: 3, UncountedTerminatedPods: Lists([]types.UID{"s"}, nil)}
	before := job.DeepCopy()
	pods := []*corev1.Pod{Pod("r"), Pod("s", Succeeded), Pod("f", Failed), Pod("d", Deleted), Pod("free", Released)}
	leave := counting.LeaveTracking(job, pods, names)
	Same(t, "pods", patched(leave), []types.UID{"r", "s", "f", "d"})
	for _, p := range leave.Pods {
		Same(t, "the patch of "+p.Pod.Name, string(p.Patch), string(names.StripPatch(p.Pod)))
	}
	Same(t, "status", string(leave.Status), `{"metadata":{"resourceVersion":"12","uid":"job-uid"},"status":{"uncountedTerminatedPods":null}}`)
	Same(t, "job", string(leave.Job), `{"metadata":{"annotations":{"batch.kubernetes.io/job-tracking":null},"uid":"job-uid"}}`)
	Same(t, "the Job", job, before)

	job.Annotations, job.Status.UncountedTerminatedPods = nil, nil
	Same(t, "once all patches are applied", counting.LeaveTracking(job, pods[4:], names), counting.Transition{})
}

// KEP-2307 § Upgrade / Downgrade Strategy: "at the time of migration to the new
// tracking, a Pod could not have the finalizer for two reasons: it wasn't migrated yet,
// or it was already counted." Without the lists in the status, the pod was not migrated.
// With them, it was counted.
func TestEnterTracking(t *testing.T) {
	pods := []*corev1.Pod{
		Pod("r", Released), Pod("s", Succeeded, Released), Pod("f", Failed, Released), Pod("d", Deleted, Released),
		Pod("migrated"), Pod("migrated, ended", Succeeded), Pod("p", Released),
	}
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"counted before":     {batchv1.JobStatus{Succeeded: 1, Failed: 1}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"not counted yet":    {batchv1.JobStatus{}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"others are gone":    {batchv1.JobStatus{Succeeded: 7, Failed: 8}, `{"succeeded":7,"failed":8,"uncountedTerminatedPods":{}}`},
		"other fields stay":  {batchv1.JobStatus{Active: 3}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"tracked already":    {batchv1.JobStatus{UncountedTerminatedPods: Lists(nil, nil)}, ""},
		"the Job has failed": {batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}, ""},
	} {
		job := NewJob()
		job.ResourceVersion, job.Status = "12", c.status
		enter := counting.EnterTracking(job, pods, names)
		if c.want == "" {
			Same(t, name, enter, counting.Transition{})
			continue
		}
		Same(t, name+": pods", patched(enter), []types.UID{"r", "p"})
		for _, p := range enter.Pods {
			Same(t, name+": the patch of "+p.Pod.Name, string(p.Patch), `{"metadata":{"uid":"`+string(p.Pod.UID)+`","resourceVersion":"7","finalizers":["batch.kubernetes.io/job-tracking"]}}`)
		}
		Same(t, name+": status", string(enter.Status), `{"metadata":{"resourceVersion":"12","uid":"job-uid"},"status":`+c.want+`}`)
		Same(t, name+": job", enter.Job, nil)
	}
}

// In an Indexed Job the pods with a valid index count, and each index once. Failures that a
// rule ignores do not count.
func TestEnterTracking_indexed(t *testing.T) {
	job := NewJob()
	Indexed(5)(job)
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
	job.Status = batchv1.JobStatus{CompletedIndexes: "0,3", Succeeded: 2}
	disrupted := Pod("disrupted", Failed, Released, Index("1"))
	disrupted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	enter := counting.EnterTracking(job, []*corev1.Pod{
		Pod("a", Succeeded, Released, Index("4")), Pod("b", Succeeded, Released, Index("4")), Pod("c", Succeeded, Released, Index("0")),
		Pod("d", Succeeded, Released, Index("5")), Pod("e", Succeeded, Released),
		Pod("f", Failed, Released, Index("1")), Pod("g", Failed, Released), disrupted,
	}, names)

	const want = `"status":{"succeeded":3,"failed":1,"completedIndexes":"0,3,4","uncountedTerminatedPods":{}}}`
	if got := string(enter.Status); len(got) < len(want) || got[len(got)-len(want):] != want {
		t.Errorf("status: got %s, want it to end with %s", got, want)
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_transitionsOfNothing(t *testing.T) {
	Same(t, "leaving without a Job", counting.LeaveTracking(nil, []*corev1.Pod{nil}, names), counting.Transition{})
	Same(t, "entering without a Job", counting.EnterTracking(nil, []*corev1.Pod{nil}, names), counting.Transition{})
	Same(t, "entering with a nil pod", len(counting.EnterTracking(NewJob(), []*corev1.Pod{nil}, names).Pods), 0)
	job := NewJob()
	job.Spec.CompletionMode, job.Spec.Completions = new(batchv1.IndexedCompletion), nil
	Same(t, "entering without completions", len(counting.EnterTracking(job, []*corev1.Pod{Pod("s", Succeeded, Released, Index("0"))}, names).Pods), 0)
}
