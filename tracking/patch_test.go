package tracking_test

import (
	"encoding/json"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// reference is the owner reference that the pods of a Job carry.
func reference() metav1.OwnerReference {
	return *metav1.NewControllerRef(NewJob(), batchv1.SchemeGroupVersion.WithKind("Job"))
}

func TestPatches_golden(t *testing.T) {
	pod := Pod("pod-uid")
	owner := reference()
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"strip", names.StripPatch(pod),
			`{"metadata":{"uid":"pod-uid","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"strip at a version", names.StripPatchAt(pod),
			`{"metadata":{"uid":"pod-uid","resourceVersion":"7","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"strip no pod", names.StripPatch(nil), ``},
		{"strip no pod at a version", names.StripPatchAt(nil), ``},
		{"adopt no pod", names.AdoptPatch(nil, owner), ``},
		{"release no pod", names.ReleasePatch(nil, "job-uid"), ``},
		{"adopt", names.AdoptPatch(pod, owner),
			`{"metadata":{"uid":"pod-uid","resourceVersion":"7","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"job","uid":"job-uid","controller":true,"blockOwnerDeletion":true}],"finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"track", names.TrackPatch(pod),
			`{"metadata":{"uid":"pod-uid","resourceVersion":"7","finalizers":["batch.kubernetes.io/job-tracking"]}}`},
		{"track no pod", names.TrackPatch(nil), ``},
		{"release", names.ReleasePatch(pod, "job-uid"),
			`{"metadata":{"uid":"pod-uid","ownerReferences":[{"$patch":"delete","uid":"job-uid"}],"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`},
	} {
		Same(t, tc.name, string(tc.got), tc.want)
	}
}

// apply applies a patch to the metadata of a pod as the API server does. It merges lists,
// owner references by UID, and follows the directives that delete from them.
func apply(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	t.Helper()
	var p struct {
		Metadata struct {
			UID             types.UID
			OwnerReferences []struct {
				Patch                 string `json:"$patch"`
				metav1.OwnerReference `json:",inline"`
			}
			Finalizers []string
			Delete     []string `json:"$deleteFromPrimitiveList/finalizers"`
		}
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	Same(t, "the UID in the patch", p.Metadata.UID, pod.UID)
	pod = pod.DeepCopy()
	for _, ref := range p.Metadata.OwnerReferences {
		pod.OwnerReferences = slices.DeleteFunc(pod.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == ref.UID })
		if ref.Patch != "delete" {
			pod.OwnerReferences = append(pod.OwnerReferences, ref.OwnerReference)
		}
	}
	for _, f := range p.Metadata.Finalizers {
		if !slices.Contains(pod.Finalizers, f) {
			pod.Finalizers = append(pod.Finalizers, f)
		}
	}
	pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return slices.Contains(p.Metadata.Delete, f) })
	return pod
}

func TestPatches_applied(t *testing.T) {
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "config"}
	pod := Pod("pod-uid", Label("app", "x"), func(pod *corev1.Pod) {
		pod.Finalizers = append(pod.Finalizers, "example.com/other")
		pod.OwnerReferences = append(pod.OwnerReferences, other)
	})

	free := apply(t, pod, names.StripPatch(pod))
	Same(t, "finalizers of the stripped pod", free.Finalizers, []string{"example.com/other"})
	Same(t, "owners of the stripped pod", free.OwnerReferences, pod.OwnerReferences)

	gone := apply(t, pod, names.ReleasePatch(pod, "job-uid"))
	Same(t, "finalizers of the released pod", gone.Finalizers, []string{"example.com/other"})
	Same(t, "owners of the released pod", gone.OwnerReferences, []metav1.OwnerReference{other})

	// KEP-2307 § Pod adoption: "adds the finalizer in the same patch request
	// that modifies the owner reference".
	adopted := apply(t, gone, names.AdoptPatch(gone, reference()))
	Same(t, "is controlled", metav1.IsControlledBy(adopted, NewJob()), true)
	Same(t, "has the finalizer", names.HasFinalizer(adopted), true)
	Same(t, "finalizers of the adopted pod", len(adopted.Finalizers), 2)
	Same(t, "owners of the adopted pod", len(adopted.OwnerReferences), 2)
}
