package referee

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// The checks read the finalizer and the annotations of pods by the names of Kubernetes, and count
// pods by their phase.

// translated returns the step with these names instead of those in Keys, and with the phases by
// which the controller counts.
func (r Rules) translated(s *cluster.Step) *cluster.Step {
	if r.Keys == (tracking.Keys{}) && r.LostAfter == 0 && !r.ExitZero {
		return s
	}
	own, now := r.Keys.WithDefaults(), s.Now
	one := func(pod *corev1.Pod, now time.Time) *corev1.Pod { return r.Counted(translate(own, pod), now) }
	all := func(pods []*corev1.Pod, now time.Time) (translated []*corev1.Pod) {
		for _, pod := range pods {
			translated = append(translated, one(pod, now))
		}
		return translated
	}
	view := func(v *cluster.View) *cluster.View {
		if v == nil {
			return nil
		}
		next := *v
		next.Pods = all(v.Pods, v.Now)
		return &next
	}
	if s.View != nil {
		now = s.View.Now // that of the decision
	}
	next := *s
	next.Pod, next.OldPod = one(s.Pod, now), one(s.OldPod, now)
	next.View, next.Read = view(s.View), view(s.Read)
	next.Pods = func() []*corev1.Pod { return all(s.Pods(), now) }
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

// Counted returns a pod with the phase by which the controller counts it, as LostAfter and ExitZero
// say.
func (r Rules) Counted(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if pod == nil {
		return nil
	}
	phase, ready := pod.Status.Phase, false
	exitZero := r.ExitZero && phase == corev1.PodFailed && len(pod.Status.ContainerStatuses) > 0 &&
		len(pod.Status.ContainerStatuses) == len(pod.Spec.Containers)
	for _, c := range pod.Status.ContainerStatuses {
		exitZero = exitZero && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
	}
	for _, c := range slices.Backward(pod.Status.Conditions) { // the first one counts
		if c.Type == corev1.PodReady {
			ready = c.Status == corev1.ConditionTrue
		}
	}
	switch {
	case exitZero:
		phase = corev1.PodSucceeded
	case r.LostAfter > 0 && !cluster.HasEnded(pod) && pod.DeletionTimestamp != nil && pod.Spec.NodeName != "" &&
		!ready && !now.Before(pod.DeletionTimestamp.Add(r.LostAfter)):
		phase = corev1.PodFailed
	default:
		return pod
	}
	next := *pod
	next.Status.Phase = phase
	return &next
}
