package cluster_test

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

const adoption = `{"metadata":{"uid":"u","ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"mine","controller":true}],` +
	`"finalizers":["batch.kubernetes.io/job-tracking"]}}`

// podToPatch returns a tracked pod after a change.
func podToPatch(how func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "x", UID: "u", Labels: map[string]string{"a": "b"}, Finalizers: []string{batchv1.JobTrackingFinalizer},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", UID: "other", Controller: new(true)}},
	}}
	how(pod)
	return pod
}

func orphaned(p *corev1.Pod) { p.OwnerReferences = nil }

func deleting(p *corev1.Pod) {
	p.OwnerReferences, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = nil, new(After(0)), new(int64(30))
}

// The API server accepts these patches of a Job controller.
func TestPatchPod(t *testing.T) {
	mine := []types.UID{"mine"}
	for _, test := range []struct {
		name, patch string
		pod         func(*corev1.Pod)
		owners      []types.UID
		finalizers  int
	}{
		{"an orphan is adopted", adoption, orphaned, mine, 1},
		{"an orphan that is being deleted is adopted, as its finalizer is not new", adoption, deleting, mine, 1},
		{"the owner changes", strings.Replace(adoption, `[{`, `[{"$patch":"delete","uid":"other"},{`, 1), func(*corev1.Pod) {}, mine, 1},
		{"directives for the order of lists", `{"metadata":{"$setElementOrder/finalizers":["x"],"$setElementOrder/ownerReferences":[{"uid":"u"}],"finalizers":["x"]}}`, orphaned, nil, 2},
		{"a finalizer is removed", `{"metadata":{"uid":"u","$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}}`, deleting, nil, 0},
	} {
		pod := podToPatch(test.pod)
		before := pod.DeepCopy()
		got, err := cluster.PatchPod(pod, []byte(test.patch))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		owners := Each(got.OwnerReferences, func(ref metav1.OwnerReference) types.UID { return ref.UID })
		if !slices.Equal(owners, test.owners) || len(got.Finalizers) != test.finalizers {
			t.Errorf("%s: got %+v, want the owners %v and %d finalizers", test.name, got, test.owners, test.finalizers)
		}
		Same(t, test.name+": the pod itself", pod, before)
	}
}

// The API server rejects these patches, or the cluster does not support them.
func TestPatchPod_rejected(t *testing.T) {
	for _, test := range []struct {
		name, patch string
		pod         func(*corev1.Pod)
		want        func(error) bool
	}{
		{"a second controller", adoption, func(*corev1.Pod) {}, apierrors.IsInvalid},
		{"a new finalizer for a pod that is being deleted", adoption, func(p *corev1.Pod) { deleting(p); p.Finalizers = nil }, apierrors.IsInvalid},
		{"another UID", strings.Replace(adoption, `"u"`, `"v"`, 1), orphaned, apierrors.IsConflict},
		{"no JSON", `{`, orphaned, apierrors.IsBadRequest},
		{"a field of the spec", `{"metadata":{"uid":"u"},"spec":{"nodeName":"n"}}`, orphaned, apierrors.IsBadRequest},
		{"a field of the status", `{"status":{"phase":"Failed"}}`, orphaned, apierrors.IsBadRequest},
		{"another field of the metadata", `{"metadata":{"deletionTimestamp":"2026-01-01T12:00:00Z"}}`, orphaned, apierrors.IsBadRequest},
		{"finalizers are null", `{"metadata":{"finalizers":null}}`, orphaned, apierrors.IsBadRequest},
		{"owners are null", `{"metadata":{"ownerReferences":null}}`, orphaned, apierrors.IsBadRequest},
		{"labels are null", `{"metadata":{"labels":null}}`, orphaned, apierrors.IsBadRequest},
		{"owners are replaced", `{"metadata":{"ownerReferences":[{"$patch":"replace"}]}}`, orphaned, apierrors.IsBadRequest},
		{"labels are replaced", `{"metadata":{"labels":{"$patch":"replace"}}}`, orphaned, apierrors.IsBadRequest},
		{"metadata are replaced", `{"metadata":{"$patch":"replace"}}`, orphaned, apierrors.IsBadRequest},
	} {
		if got, err := cluster.PatchPod(podToPatch(test.pod), []byte(test.patch)); got != nil || !test.want(err) {
			t.Errorf("%s: got %v (%v)", test.name, got, err)
		}
	}
}

// A patch sets labels, and removes those that are null.
func TestPatchPod_labels(t *testing.T) {
	got := Must(cluster.PatchPod(podToPatch(orphaned), []byte(`{"metadata":{"labels":{"a":null,"c":"d"},"annotations":{"e":"f"}}}`)))
	Same(t, "labels and annotations", Pair(got.Labels, got.Annotations), Pair(map[string]string{"c": "d"}, map[string]string{"e": "f"}))
}
