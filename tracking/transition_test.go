package tracking_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/tracking"
)

func patched(t tracking.Transition) (uids []types.UID) {
	for _, p := range t.Pods {
		uids = append(uids, p.Pod.UID)
	}
	return uids
}

// KEP-2307 § Upgrade / Downgrade Strategy: "It removes finalizers from the Pods
// owned by it and the annotation from the Job. Sets
// .status.uncountedTerminatedPods to nil."
func TestLeaveTracking(t *testing.T) {
	job := newJob()
	job.ResourceVersion = "12"
	job.Annotations = map[string]string{batchv1.JobTrackingFinalizer: ""}
	job.Status = batchv1.JobStatus{Active: 1, Succeeded: 2, Failed: 3, UncountedTerminatedPods: lists([]types.UID{"s"}, nil)}
	before := job.DeepCopy()
	pods := []*corev1.Pod{newPod("r"), newPod("s", succeeded), newPod("f", failed), newPod("d", deleted), newPod("free", released)}
	leave := names.LeaveTracking(job, pods)
	same(t, "pods", patched(leave), []types.UID{"r", "s", "f", "d"})
	same(t, "the patch of a pod", string(leave.Pods[0].Patch), string(names.StripPatch(pods[0])))
	same(t, "status", string(leave.Status), `{"metadata":{"uid":"job-uid","resourceVersion":"12"},"status":{"uncountedTerminatedPods":null}}`)
	same(t, "job", string(leave.Job), `{"metadata":{"annotations":{"batch.kubernetes.io/job-tracking":null},"uid":"job-uid"}}`)
	same(t, "the Job", job, before)

	job.Annotations, job.Status.UncountedTerminatedPods = nil, nil
	same(t, "once all patches are applied", names.LeaveTracking(job, pods[4:]), tracking.Transition{})
}

// KEP-2307 § Upgrade / Downgrade Strategy: "at the time of migration to the new
// tracking, a Pod could not have the finalizer for two reasons: it wasn't migrated yet,
// or it was already counted." Without the lists in the status, the pod was not migrated.
// With them, it was counted.
func TestEnterTracking(t *testing.T) {
	pods := []*corev1.Pod{
		newPod("r", released), newPod("s", succeeded, released), newPod("f", failed, released), newPod("d", deleted, released),
		newPod("migrated"), newPod("migrated, ended", succeeded),
	}
	for name, c := range map[string]struct {
		status batchv1.JobStatus
		want   string
	}{
		"counted before":     {batchv1.JobStatus{Succeeded: 1, Failed: 1}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"not counted yet":    {batchv1.JobStatus{}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"others are gone":    {batchv1.JobStatus{Succeeded: 7, Failed: 8}, `{"succeeded":7,"failed":8,"uncountedTerminatedPods":{}}`},
		"other fields stay":  {batchv1.JobStatus{Active: 3}, `{"succeeded":1,"failed":1,"uncountedTerminatedPods":{}}`},
		"tracked already":    {batchv1.JobStatus{UncountedTerminatedPods: lists(nil, nil)}, ""},
		"the Job has failed": {batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}}, ""},
	} {
		job := newJob()
		job.ResourceVersion, job.Status = "12", c.status
		enter := names.EnterTracking(job, pods)
		if c.want == "" {
			same(t, name, enter, tracking.Transition{})
			continue
		}
		same(t, name+": pods", patched(enter), []types.UID{"r"})
		same(t, name+": the patch of a pod", string(enter.Pods[0].Patch), `{"metadata":{"uid":"r","resourceVersion":"7","finalizers":["batch.kubernetes.io/job-tracking"]}}`)
		same(t, name+": status", string(enter.Status), `{"metadata":{"uid":"job-uid","resourceVersion":"12"},"status":`+c.want+`}`)
		same(t, name+": job", enter.Job, []byte(nil))
	}
}

// In an Indexed Job the pods with a valid index count, and each index once. Failures that a
// rule ignores do not count.
func TestEnterTracking_indexed(t *testing.T) {
	job := newJob()
	mode, completions := batchv1.IndexedCompletion, int32(5)
	job.Spec.CompletionMode, job.Spec.Completions = &mode, &completions
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
	job.Status = batchv1.JobStatus{CompletedIndexes: "0,3", Succeeded: 2}
	disrupted := newPod("disrupted", failed, released, index("1"))
	disrupted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	enter := names.EnterTracking(job, []*corev1.Pod{
		newPod("a", succeeded, released, index("4")), newPod("b", succeeded, released, index("4")), newPod("c", succeeded, released, index("0")),
		newPod("d", succeeded, released, index("5")), newPod("e", succeeded, released),
		newPod("f", failed, released, index("1")), newPod("g", failed, released), disrupted,
	})
	const want = `"status":{"succeeded":3,"failed":1,"completedIndexes":"0,3,4","uncountedTerminatedPods":{}}}`
	if got := string(enter.Status); len(got) < len(want) || got[len(got)-len(want):] != want {
		t.Errorf("status: got %s, want it to end with %s", got, want)
	}
}
