package counting

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Transition holds the patches that move a Job to or from tracking with finalizers
// (KEP-2307 § Upgrade / Downgrade). No controller may act on the Job meanwhile. Send Pods,
// then Status, then Job, each after the previous ones have succeeded. Skip pods that are
// gone. After a conflict or a crash, read the Job and its pods from the API server and
// request the transition again: it does not repeat what is done. The transition is
// complete when nothing is left to send.
type Transition struct {
	// Pods lists the pods to patch, in any order. They are pods of the input and must not be
	// changed.
	Pods []PodPatch
	// Status is a JSON merge patch of the Job's status, for the given version of the Job;
	// nil if the status does not change.
	Status []byte
	// Job is a JSON merge patch of the Job itself; nil if it does not change.
	Job []byte
}

// PodPatch is a strategic merge patch of a pod.
type PodPatch struct {
	Pod   *corev1.Pod
	Patch []byte
}

// EnterTracking moves a Job to tracking with finalizers that was tracked by its lingering
// pods. Pass all pods that the Job owns, as read from the API server.
//
// Pods that have not ended get the finalizer. The patch names the version of the pod,
// because a late patch must not put the finalizer on a counted pod. Then the status counts
// the pods without a finalizer as the legacy algorithm does, and gets empty uncounted
// lists, which mark the Job as tracked. Counters never decrease, so counts of deleted pods
// are kept. A pod that is being deleted cannot get the finalizer, and does not count.
// Afterwards only pods with the finalizer count. A Job that has ended is not changed.
func EnterTracking(job *batchv1.Job, owned []*corev1.Pod, keys tracking.Keys) (t Transition) {
	if job == nil || jobstatus.Finished(job) != nil || job.Status.UncountedTerminatedPods != nil {
		return Transition{}
	}
	classifier, _ := classify.Of(job, keys, classify.Options{}) // its selector does not matter
	status := legacyStatus{Uncounted: &batchv1.UncountedTerminatedPods{}}
	var completed indexset.Builder
	for _, pod := range owned {
		index := keys.IndexOf(pod)
		switch {
		case pod == nil || keys.HasFinalizer(pod):
		case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
			if pod.DeletionTimestamp == nil {
				t.Pods = append(t.Pods, PodPatch{pod, keys.TrackPatch(pod)})
			}
		case classifier.Indexed && (index == tracking.NoIndex || index >= classifier.Completions):
		case pod.Status.Phase == corev1.PodSucceeded:
			status.Succeeded++
			completed.Add(index)
		case classifier.Policy.Match(pod).Counts():
			status.Failed++
		}
	}
	// Counters and indexes never decrease, so that pods that are gone stay counted.
	status.Succeeded = max(status.Succeeded, job.Status.Succeeded)
	status.Failed = max(status.Failed, job.Status.Failed)
	if classifier.Indexed {
		before, _ := jobstatus.ReadIndexes(&job.Status, classifier.Completions)
		all := completed.Set().Union(before)
		status.Succeeded, status.Completed = int32(all.Len()), all.String()
	}
	t.Status = status.patch(job)
	return t
}

// LeaveTracking prepares a Job for a controller that does not track with finalizers. Pass
// all pods that the Job owns.
//
// It removes the finalizers first, whatever the state of the pods, because a controller
// may count pods with a finalizer again when the status has no lists. Pods in the lists
// are not added to the counters: the legacy algorithm counts the pods that exist. The
// controllers of Kubernetes 1.22 to 1.26 use an annotation of the Job, which is removed
// last.
func LeaveTracking(job *batchv1.Job, owned []*corev1.Pod, keys tracking.Keys) (t Transition) {
	for _, pod := range owned {
		if keys.HasFinalizer(pod) {
			t.Pods = append(t.Pods, PodPatch{pod, keys.StripPatch(pod)})
		}
	}
	if job == nil {
		return t
	}
	if job.Status.UncountedTerminatedPods != nil {
		t.Status = legacyStatus{}.patch(job)
	}
	if _, ok := job.Annotations[batchv1.JobTrackingFinalizer]; ok {
		// cannot fail: there are only strings and nil
		t.Job, _ = json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": job.UID, "annotations": map[string]any{batchv1.JobTrackingFinalizer: nil},
		}})
	}
	return t
}

// legacyStatus is the part of a status that a transition changes.
type legacyStatus struct {
	Succeeded int32                            `json:"succeeded,omitempty"`
	Failed    int32                            `json:"failed,omitempty"`
	Completed string                           `json:"completedIndexes,omitempty"`
	Uncounted *batchv1.UncountedTerminatedPods `json:"uncountedTerminatedPods"`
}

// patch returns the JSON merge patch of this version of the Job.
func (s legacyStatus) patch(job *batchv1.Job) []byte {
	// cannot fail: there are only strings, numbers and nil
	b, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": job.UID, "resourceVersion": job.ResourceVersion}, "status": s,
	})
	return b
}
