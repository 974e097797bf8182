package machine

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/tracking"
)

// Route is whom a change of a pod concerns.
type Route struct {
	// Owners are its controllers before and after the change.
	Owners []metav1.OwnerReference
	// Selecting says that it concerns the Jobs of its namespace that select it.
	Selecting bool
}

// RouteOf returns whom a change of a pod concerns; before is nil for a new pod, after
// for one that is gone.
func RouteOf(before, after *corev1.Pod) (r Route) {
	was, is := controllerOf(before), controllerOf(after)
	if was != nil && (is == nil || is.UID != was.UID) {
		r.Owners = append(r.Owners, *was)
	}
	if is != nil {
		r.Owners = append(r.Owners, *is)
	}
	if after == nil || is != nil {
		return r
	}
	// A pod without a controller that was none before, and has nothing to be freed of,
	// concerns a Job only if its labels have changed.
	r.Selecting = before == nil || was != nil || tracking.HasFinalizer(after) || !maps.Equal(before.Labels, after.Labels)
	return r
}

func controllerOf(pod *corev1.Pod) *metav1.OwnerReference {
	if pod == nil {
		return nil
	}
	return metav1.GetControllerOf(pod)
}
