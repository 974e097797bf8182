package keys

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The patches are strategic merge patches. Each names the pod's UID, so that
// it fails on another pod that took the same name. They do not name the
// resource version: what they do is right for every version of that pod, and
// the kubelet writes to pods all the time. The exceptions are StripPatchAt,
// TrackPatch and AdoptPatch. For a nil pod there is no patch.

type podPatch struct {
	Metadata podPatchMeta `json:"metadata"`
}

type podPatchMeta struct {
	UID              types.UID `json:"uid"`
	ResourceVersion  string    `json:"resourceVersion,omitempty"`
	OwnerReferences  any       `json:"ownerReferences,omitempty"`
	Finalizers       []string  `json:"finalizers,omitempty"`
	DeleteFinalizers []string  `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
}

// StripPatch returns the patch that removes the finalizer from a pod.
func (k Keys) StripPatch(pod *corev1.Pod) []byte {
	return encode(pod, podPatchMeta{DeleteFinalizers: []string{k.finalizer()}})
}

// StripPatchAt is StripPatch for one version of the pod. It is for a pod that is
// not to be counted: should it have finished meanwhile, or have been adopted, the
// patch fails and the pod is counted after all.
func (k Keys) StripPatchAt(pod *corev1.Pod) []byte {
	if pod == nil {
		return nil
	}
	return encode(pod, podPatchMeta{ResourceVersion: pod.ResourceVersion, DeleteFinalizers: []string{k.finalizer()}})
}

// TrackPatch adds the finalizer to one version of a pod: a late one must not track a pod
// that has been counted.
func (k Keys) TrackPatch(pod *corev1.Pod) []byte {
	if pod == nil {
		return nil
	}
	return encode(pod, podPatchMeta{ResourceVersion: pod.ResourceVersion, Finalizers: []string{k.finalizer()}})
}

// AdoptPatch returns the patch with which the owner adopts a pod. It adds
// the finalizer together with the owner reference (KEP-2307 § Pod adoption). It
// is for one version of the pod: to adopt again what has been adopted, counted
// and freed since would have it counted again.
func (k Keys) AdoptPatch(pod *corev1.Pod, owner metav1.OwnerReference) []byte {
	if pod == nil {
		return nil
	}
	return encode(pod, podPatchMeta{ResourceVersion: pod.ResourceVersion, OwnerReferences: []metav1.OwnerReference{owner}, Finalizers: []string{k.finalizer()}})
}

// ReleasePatch returns the patch that removes the owner reference with the
// given UID from a pod, and the finalizer with it.
func (k Keys) ReleasePatch(pod *corev1.Pod, owner types.UID) []byte {
	type deleted struct {
		Patch string    `json:"$patch"`
		UID   types.UID `json:"uid"`
	}
	return encode(pod, podPatchMeta{
		OwnerReferences:  []deleted{{Patch: "delete", UID: owner}},
		DeleteFinalizers: []string{k.finalizer()},
	})
}

func encode(pod *corev1.Pod, meta podPatchMeta) []byte {
	if pod == nil {
		return nil
	}
	meta.UID = pod.UID
	b, _ := json.Marshal(podPatch{Metadata: meta}) // strings always encode
	return b
}
