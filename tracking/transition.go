package tracking

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Transition is how a Job begins or ceases to be tracked with finalizers (KEP-2307 §
// Upgrade / Downgrade), while no controller acts on it. Send Pods, then Status, then
// Job, each once all that comes before has succeeded; a pod that is gone needs no
// patch. After a conflict, or a crash, read the Job and its pods from the API server and
// ask for the transition again: what has been done is not asked for twice. It is
// complete when nothing is left to send.
type Transition struct {
	// Pods are the pods to patch, in any order. They are the pods that were given, and
	// must not be changed.
	Pods []PodPatch
	// Status is a JSON merge patch of the Job's status for the version of the Job that
	// was given; nil when the status is as it should be.
	Status []byte
	// Job is a JSON merge patch of the Job itself; nil when there is nothing to change.
	Job []byte
}

// PodPatch is a strategic merge patch of a pod.
type PodPatch struct {
	Pod   *corev1.Pod
	Patch []byte
}

// EnterTracking is for a Job that was tracked by its lingering pods. It takes all pods
// that the Job owns, as the API server has them.
//
// Pods that have not ended get the finalizer. The patch is for one version of the pod: a
// late one must not track a pod that has been counted. Then the status takes over
// what the pods without finalizer tell, as the legacy algorithm would count them, and
// gets empty lists, which say that the Job is tracked. Counters do not fall below what
// the status says of pods that are gone. A pod that is being deleted can get no
// finalizer, and does not count. Afterwards only pods with the finalizer count.
// A Job that has ended stays as it is.
func (k Keys) EnterTracking(job *batchv1.Job, owned []*corev1.Pod) (t Transition) {
	if job == nil || lifecycle.Finished(job) != nil || job.Status.UncountedTerminatedPods != nil {
		return Transition{}
	}
	var ended []*corev1.Pod
	for _, pod := range owned {
		switch {
		case pod == nil || k.HasFinalizer(pod):
		case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
			ended = append(ended, pod)
		case pod.DeletionTimestamp == nil:
			t.Pods = append(t.Pods, PodPatch{pod, keys.Keys(k).TrackPatch(pod)})
		}
	}
	counted := k.countLingering(job, ended)
	counted.Uncounted = &batchv1.UncountedTerminatedPods{}
	t.Status = encodeStatus(job, counted)
	return t
}

// LeaveTracking is for a Job whose next controller does not track with finalizers. It
// takes all pods that the Job owns.
//
// The finalizers are removed first, whatever the state of the pods: a status without
// lists must not meet pods that a controller would count again. Pods that stood in the
// lists are not added to the counters: the legacy algorithm counts the pods that it
// sees. The controllers of Kubernetes 1.22 to 1.26 go by an annotation of the Job, which
// goes last.
func (k Keys) LeaveTracking(job *batchv1.Job, owned []*corev1.Pod) (t Transition) {
	for _, pod := range owned {
		if k.HasFinalizer(pod) {
			t.Pods = append(t.Pods, PodPatch{pod, k.StripPatch(pod)})
		}
	}
	if job == nil {
		return t
	}
	if job.Status.UncountedTerminatedPods != nil {
		t.Status = encodeStatus(job, legacyStatus{})
	}
	if _, ok := job.Annotations[batchv1.JobTrackingFinalizer]; ok {
		t.Job, _ = json.Marshal(map[string]any{"metadata": map[string]any{ // strings always encode
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

// countLingering counts pods that have ended on top of what the status says of others.
func (k Keys) countLingering(job *batchv1.Job, ended []*corev1.Pod) (s legacyStatus) {
	spec := &job.Spec
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	completions := int32(0)
	if indexed && spec.Completions != nil {
		completions = *spec.Completions
	}
	policy := failurepolicy.Compile(failurepolicy.FromAPI(spec.PodFailurePolicy))
	var completed indexset.Builder
	for _, pod := range ended {
		index := k.IndexOf(pod)
		switch {
		case indexed && (index == NoIndex || index >= completions):
		case pod.Status.Phase == corev1.PodSucceeded:
			s.Succeeded++
			completed.Add(index)
		case policy.Match(pod).Counts():
			s.Failed++
		}
	}
	s.Failed = max(s.Failed, job.Status.Failed)
	if !indexed {
		s.Succeeded = max(s.Succeeded, job.Status.Succeeded)
		return s
	}
	before, _ := indexset.ParseDamaged(job.Status.CompletedIndexes, completions)
	all := completed.Set().Union(before)
	s.Succeeded, s.Completed = int32(all.Len()), all.String()
	return s
}

func encodeStatus(job *batchv1.Job, status legacyStatus) []byte {
	type meta struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	}
	b, _ := json.Marshal(struct { // a status always encodes
		Metadata meta         `json:"metadata"`
		Status   legacyStatus `json:"status"`
	}{meta{job.UID, job.ResourceVersion}, status})
	return b
}
