package referee

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// The checks read the finalizer and the annotations of pods by the names of Kubernetes.

// translated returns the step with these names instead of those in Keys.
func (r Rules) translated(s *cluster.Step) *cluster.Step {
	if r.Keys == (tracking.Keys{}) {
		return s
	}
	own := r.Keys.WithDefaults()
	all := func(pods []*corev1.Pod) (translated []*corev1.Pod) {
		for _, pod := range pods {
			translated = append(translated, translate(own, pod))
		}
		return translated
	}
	view := func(v *cluster.View) *cluster.View {
		if v == nil {
			return nil
		}
		next := *v
		next.Pods = all(v.Pods)
		return &next
	}
	next := *s
	next.Pod, next.OldPod = translate(own, s.Pod), translate(own, s.OldPod)
	next.View, next.Read = view(s.View), view(s.Read)
	next.Pods = func() []*corev1.Pod { return all(s.Pods()) }
	if s.Earlier != nil {
		next.Earlier = func(yield func(cluster.View) bool) {
			for v := range s.Earlier {
				if !yield(*view(&v)) {
					return
				}
			}
		}
	}
	return &next
}

// translate returns a copy of a pod with the names of Kubernetes instead of own ones. A
// finalizer or annotation that already has such a name belongs to another controller, and is
// removed.
func translate(own tracking.Keys, pod *corev1.Pod) *corev1.Pod {
	if pod == nil {
		return nil
	}
	next := *pod
	next.Finalizers = slices.DeleteFunc(slices.Clone(pod.Finalizers),
		func(f string) bool { return f == batchv1.JobTrackingFinalizer })
	if own.HasFinalizer(pod) {
		next.Finalizers = append(next.Finalizers, batchv1.JobTrackingFinalizer)
	}
	names := map[string]string{
		batchv1.JobCompletionIndexAnnotation:          own.Index,
		batchv1.JobIndexFailureCountAnnotation:        own.FailureCount,
		batchv1.JobIndexIgnoredFailureCountAnnotation: own.IgnoredFailureCount,
	}
	next.Annotations = maps.Clone(pod.Annotations)
	for kubernetes, name := range names {
		delete(next.Annotations, kubernetes)
		if value, ok := pod.Annotations[name]; ok {
			next.Annotations[kubernetes] = value
		}
	}
	return &next
}
