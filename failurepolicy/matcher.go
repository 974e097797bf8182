package failurepolicy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Matcher is a custom requirement. It reports whether a failed pod meets it. The optional
// detail is a text for people, which completes the sentence "the pod failed with ...". A
// Matcher must depend on the pod alone and must not change it.
type Matcher func(pod *corev1.Pod) (detail string, ok bool)

// OnPodReason matches a pod whose status has one of these reasons, such as
// "Evicted" or "NodeLost". A pod without a reason does not match.
func OnPodReason(reasons ...string) Matcher {
	reasons = slices.Clone(reasons)
	details := make([]string, len(reasons)) // made here, so that matching does not allocate
	for i, reason := range reasons {
		details[i] = "reason " + reason
	}
	return func(pod *corev1.Pod) (string, bool) {
		if pod == nil || pod.Status.Reason == "" {
			return "", false
		}
		i := slices.Index(reasons, pod.Status.Reason)
		if i < 0 {
			return "", false
		}
		return details[i], true
	}
}

// OnTerminationMessage matches a pod with a failed container whose termination message
// passes a test, such as the MatchString of a regular expression. An empty container name
// means any container, init containers last. Containers without a message, or with exit
// code 0, do not match. A nil test matches nothing.
func OnTerminationMessage(container string, test func(message string) bool) Matcher {
	meets := func(s *corev1.ContainerStatus) bool {
		return failed(s) && (container == "" || container == s.Name) &&
			s.State.Terminated.Message != "" && test(s.State.Terminated.Message)
	}
	return func(pod *corev1.Pod) (string, bool) {
		if pod == nil || test == nil {
			return "", false
		}
		for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
			for i := range statuses {
				if s := &statuses[i]; meets(s) {
					return "the termination message of container " + s.Name, true
				}
			}
		}
		return "", false
	}
}
