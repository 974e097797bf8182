package jobfate

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/machine"
)

// OrphansIn returns Machines that remove the finalizer from the orphans among the pods. An
// orphan has no Job left to count it, so its finalizer would block its deletion. OrphansIn
// returns one Machine for each owner that is not among the Jobs, and one for each pod
// that has no controller and that no Job selects. Pass the Jobs that the cache holds. The
// Machine reads a Job that is not among them live before it frees the pods.
//
// Each Machine has already begun. Run it once and drop it. If its result has an error,
// retry soon, unless the Job of the pods turns out to exist.
func OrphansIn(pods []*corev1.Pod, jobs []*batchv1.Job, opts ...Option) []*Machine {
	return convert(machine.OrphansIn(*configure(opts), pods, jobs), func(m *machine.Machine) *Machine { return &Machine{m} })
}

// RouteOf returns the names of the Jobs that a change of a pod concerns: the Jobs that
// control it before and after the change or, if it has no controller, the Jobs of its
// namespace that select it. If there are none and the pod has the finalizer, RouteOf
// returns an empty name: the pod is an orphan. Before is nil for a new pod, after is nil
// for a deleted pod. The function jobs returns the Jobs of a namespace that the cache
// holds.
func RouteOf(before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job, opts ...Option) []types.NamespacedName {
	return machine.RouteOf(configure(opts).Controller, before, after, jobs)
}
