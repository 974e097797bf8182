package tracking

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The patches are strategic merge patches. Each names the pod's UID, so that it fails on
// another pod of the same name. StripPatch and ReleasePatch do not name the resource
// version, because they are right for every version of the pod and the kubelet updates pods
// often. There is no patch of a nil pod.

type podPatchMeta struct {
	UID              types.UID `json:"uid"`
	ResourceVersion  string    `json:"resourceVersion,omitempty"`
	OwnerReferences  any       `json:"ownerReferences,omitempty"`
	Finalizers       []string  `json:"finalizers,omitempty"`
	DeleteFinalizers []string  `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
}

// StripPatch returns the strategic merge patch that removes the finalizer from a pod. The
// patch names the UID, so it fails on another pod with the same name. For a nil pod it
// returns nil, as the other patches do.
func (k Keys) StripPatch(pod *corev1.Pod) []byte {
	return encode(pod, podPatchMeta{DeleteFinalizers: []string{k.WithDefaults().Finalizer}})
}

// StripPatchAt is StripPatch for one version of the pod. It is for a pod that must not be
// counted. If the pod has finished or has been adopted meanwhile, the patch fails, and the
// pod is counted.
func (k Keys) StripPatchAt(pod *corev1.Pod) []byte {
	return encodeAt(pod, podPatchMeta{DeleteFinalizers: []string{k.WithDefaults().Finalizer}})
}

// AdoptPatch returns the patch that adopts a pod. It adds the finalizer together with the
// owner reference (KEP-2307 § Pod adoption). It is for one version of the pod: a pod that
// has since been adopted, counted and freed would otherwise be counted again.
func (k Keys) AdoptPatch(pod *corev1.Pod, owner metav1.OwnerReference) []byte {
	return encodeAt(pod, podPatchMeta{OwnerReferences: []metav1.OwnerReference{owner},
		Finalizers: []string{k.WithDefaults().Finalizer}})
}

// TrackPatch returns the patch that adds the finalizer to a pod that the Job owns already. It is for one version of
// the pod, like AdoptPatch.
func (k Keys) TrackPatch(pod *corev1.Pod) []byte {
	return encodeAt(pod, podPatchMeta{Finalizers: []string{k.WithDefaults().Finalizer}})
}

// ReleasePatch returns the patch that removes the owner reference with the given UID and
// the finalizer from a pod.
func (k Keys) ReleasePatch(pod *corev1.Pod, owner types.UID) []byte {
	type deleted struct {
		Patch string    `json:"$patch"`
		UID   types.UID `json:"uid"`
	}
	return encode(pod, podPatchMeta{
		OwnerReferences:  []deleted{{Patch: "delete", UID: owner}},
		DeleteFinalizers: []string{k.WithDefaults().Finalizer},
	})
}

// encodeAt encodes a patch for one version of a pod.
func encodeAt(pod *corev1.Pod, meta podPatchMeta) []byte {
	if pod != nil {
		meta.ResourceVersion = pod.ResourceVersion
	}
	return encode(pod, meta)
}

func encode(pod *corev1.Pod, meta podPatchMeta) []byte {
	if pod == nil {
		return nil
	}
	meta.UID = pod.UID
	b, _ := json.Marshal(map[string]podPatchMeta{"metadata": meta}) // cannot fail: there are only strings and booleans
	return b
}
