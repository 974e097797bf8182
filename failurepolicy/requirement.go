package failurepolicy

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// codes is a requirement on exit codes.
type codes struct {
	container string
	anywhere  bool    // in any container
	values    []int32 // sorted, for the binary search
	in        bool    // the operator is In, otherwise NotIn
}

// first returns the first container that meets the requirement, or nil. A container that has
// not terminated, or has exit code 0, never meets it.
func (c *codes) first(statuses []corev1.ContainerStatus) *corev1.ContainerStatus {
	for i := range statuses {
		s := &statuses[i]
		if !failed(s) || !c.anywhere && c.container != s.Name {
			continue
		}
		if _, found := slices.BinarySearch(c.values, s.State.Terminated.ExitCode); found == c.in {
			return s
		}
	}
	return nil
}

// failed reports whether a container terminated with an exit code other than 0.
func failed(s *corev1.ContainerStatus) bool {
	return s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
}

// firstCondition returns the first condition that matches a pattern, or nil. The order of
// the conditions decides, not that of the patterns.
func firstCondition(
	conditions []corev1.PodCondition, patterns []batchv1.PodFailurePolicyOnPodConditionsPattern,
) *corev1.PodCondition {
	for i := range conditions {
		c := &conditions[i]
		for j := range patterns {
			if c.Type == patterns[j].Type && c.Status == patterns[j].Status {
				return c
			}
		}
	}
	return nil
}
