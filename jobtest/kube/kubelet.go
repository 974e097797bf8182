package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Kubelet is the scheduler and the kubelets of all nodes. It acts only when a method is
// called. Each method reports whether it changed the pod.
type Kubelet struct{ Server *Server }

// Start schedules a pod and runs it.
func (k Kubelet) Start(namespace, name string) bool {
	return k.Act(namespace, name, cluster.StartPod)
}

// End terminates the containers of a pod with an exit code. If the pod is being deleted,
// its grace period ends.
func (k Kubelet) End(namespace, name string, code int32) bool {
	return k.Act(namespace, name, func(p *corev1.Pod, now time.Time) *corev1.Pod {
		return cluster.EndPod(p, code, now)
	})
}

// Act applies a change to a pod, such as those of package cluster, and reports whether it changed
// the pod. If the change returns nil, the pod is removed regardless of its finalizers.
func (k Kubelet) Act(namespace, name string, change func(*corev1.Pod, time.Time) *corev1.Pod) bool {
	s := k.Server
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := kindFor[*corev1.Pod](s)
	old := pods.objects[key(namespace, name)]
	if old == nil {
		return false
	}
	next := change(old.obj.(*corev1.Pod), time.Now())
	switch {
	case next == nil:
		pods.drop(old, nil)
	case next == old.obj:
		return false
	default:
		// put cannot fail, because the pod was encoded before.
		v, err := pods.put(old, next.DeepCopy(), nil)
		return err == nil && v != old
	}
	return true
}

// terminated is the exit code of a container that SIGTERM stopped.
const terminated = 143

// Step does the first action that is due, in the order of the pods' names: it starts a
// pending pod, ends a pod that the script ends, or stops a pod that is being deleted. It
// reports whether it did anything. The script returns the exit code of a running pod and
// whether the pod ends now.
func (k Kubelet) Step(script func(*corev1.Pod) (code int32, ends bool)) bool {
	for _, pod := range List[*corev1.Pod](k.Server, "") {
		switch {
		case cluster.HasEnded(pod):
		case pod.DeletionTimestamp != nil:
			if k.End(pod.Namespace, pod.Name, terminated) {
				return true
			}
		case pod.Status.Phase != corev1.PodRunning:
			if len(pod.Spec.SchedulingGates) == 0 && k.Start(pod.Namespace, pod.Name) {
				return true
			}
		default:
			if code, ends := script(pod); ends && k.End(pod.Namespace, pod.Name, code) {
				return true
			}
		}
	}
	return false
}
