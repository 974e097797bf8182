package jobfate

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/machine"
)

// Orphans removes the finalizer from pods that no Job is left to count. The finalizer
// would keep them from being deleted, and no decision about a Job removes it. Like a
// [Machine] it names requests and takes their answers.
type Orphans struct{ core *machine.Orphans }

// Next returns the requests to send next; none at the end.
func (o *Orphans) Next() []Request { return convert(o.core.Next(), newRequest) }

// Answer takes what the client returned for a request, like [Machine.Answer].
func (o *Orphans) Answer(r Request, object runtime.Object, err error) error {
	return o.core.Answer(r.ID, object, err)
}

// Err says why pods were not freed. It is worth another try soon, unless the Job of the
// pods is there after all.
func (o *Orphans) Err() error { return o.core.Result().Err }

// OrphansIn returns what frees the orphans among the pods: one for each controller that
// is none of the Jobs, and one for each pod that has no controller and that none of the
// Jobs selects. The Jobs are those that the cache shows; a Job that is not among them is
// read live before its pods are freed.
func OrphansIn(pods []*corev1.Pod, jobs []*batchv1.Job, opts ...Option) []*Orphans {
	return convert(machine.OrphansIn(configure(opts).Controller, pods, jobs), func(o *machine.Orphans) *Orphans { return &Orphans{o} })
}

// RouteOf returns the names of the Jobs that a change of a pod concerns: those of its
// controllers before and after, or, without a controller, of the Jobs of its namespace
// that select it. If there are none, and the pod carries the finalizer, the name is empty:
// the pod is an orphan. Before is nil for a new pod, after for one that is gone. Jobs
// returns the Jobs of a namespace that the cache shows.
func RouteOf(before, after *corev1.Pod, jobs func(namespace string) []*batchv1.Job, opts ...Option) []types.NamespacedName {
	return machine.RouteOf(configure(opts).Controller, before, after, jobs)
}
