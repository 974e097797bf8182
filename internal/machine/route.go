package machine

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/owner"
	"github.com/jobfate/jobfate/tracking"
)

// RouteOf returns the names of the Jobs that a change of a pod concerns: its controllers
// before and after or, if it has no controller, the Jobs that select it. If there are none
// and the pod has the finalizer, RouteOf returns an empty name.
func RouteOf(as tracking.Controller, before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job) (names []types.NamespacedName) {
	add := func(namespace, name string) {
		if key := (types.NamespacedName{Namespace: namespace, Name: name}); !slices.Contains(names, key) {
			names = append(names, key)
		}
	}
	for _, pod := range []*corev1.Pod{before, after} {
		if owner := controllerOf(pod); as.Owns(owner) {
			add(pod.Namespace, owner.Name)
		}
	}
	if after == nil || controllerOf(after) != nil || !matters(as, before, after) {
		return names
	}
	selected := false
	for _, job := range jobs(after.Namespace) {
		if Selects(job, after) {
			selected = true
			add(job.Namespace, job.Name)
		}
	}
	if !selected && as.Keys.HasFinalizer(after) {
		add(after.Namespace, "")
	}
	return names
}

// matters reports whether a change of a pod without a controller concerns a Job. If the pod
// had no controller before and has no finalizer to remove, only a change of its labels
// does.
func matters(as tracking.Controller, before, after *corev1.Pod) bool {
	return before == nil || controllerOf(before) != nil || as.Keys.HasFinalizer(after) || !maps.Equal(before.Labels, after.Labels)
}

func controllerOf(pod *corev1.Pod) *metav1.OwnerReference {
	if pod == nil {
		return nil
	}
	return metav1.GetControllerOfNoCopy(pod)
}

// Selects reports whether a Job has a selector that matches a pod of its namespace.
func Selects(job *batchv1.Job, pod *corev1.Pod) bool {
	of, err := owner.Of(job, keys.Keys{})
	return err == nil && job.Spec.Selector != nil && job.Namespace == pod.Namespace && of.Selects(pod.Labels)
}
