package jobfate

import (
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/machine"
)

var errOrphans = errors.New("this Machine frees orphans: it begins no sync")

// OrphansIn returns Machines that remove the finalizer from the orphans among the pods,
// which no Job is left to count: the finalizer would keep them from being deleted. There
// is one for each controller that is none of the Jobs, and one for each pod that has no
// controller and that none of the Jobs selects. The Jobs are those that the cache shows; a
// Job that is not among them is read live before its pods are freed.
//
// Each has begun, and is done with once it has run. An error in its result is worth
// another try soon, unless the Job of the pods is there after all.
func OrphansIn(pods []*corev1.Pod, jobs []*batchv1.Job, opts ...Option) []*Machine {
	return convert(machine.OrphansIn(configure(opts).Controller, pods, jobs), func(o *machine.Orphans) *Machine { return &Machine{orphans: o} })
}

// RouteOf returns the names of the Jobs that a change of a pod concerns: those of its
// controllers before and after, or, without a controller, of the Jobs of its namespace
// that select it. If there are none, and the pod carries the finalizer, the name is empty:
// the pod is an orphan. Before is nil for a new pod, after for one that is gone. Jobs
// returns the Jobs of a namespace that the cache shows.
func RouteOf(before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job, opts ...Option) []types.NamespacedName {
	return machine.RouteOf(configure(opts).Controller, before, after, jobs)
}
