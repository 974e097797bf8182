package jobfate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/internal/machine"
)

// Orphans removes the finalizer from pods that no Job is left to count. The finalizer
// would keep them from being deleted, and no decision about a Job removes it. Like a
// [Machine] it names requests and takes their answers.
type Orphans struct{ core *machine.Orphans }

// NewOrphans returns the machine for the pods with one controller, whose Job the cache
// does not show. It reads that Job live first. Without an owner it is for pods that have
// no controller, and that no Job of the namespace selects. Of the pods it frees those
// that carry the finalizer and have that owner; the options say who the caller is.
func NewOrphans(owner *metav1.OwnerReference, pods []*corev1.Pod, opts ...Option) *Orphans {
	return &Orphans{machine.NewOrphans(configure(opts).Controller, owner, pods)}
}

// Next returns the requests to send next; none at the end.
func (o *Orphans) Next() []Request { return convert(o.core.Next(), newRequest) }

// Answer takes what the client returned for a request, like [Machine.Answer].
func (o *Orphans) Answer(r Request, object runtime.Object, err error) error {
	return o.core.Answer(r.ID, object, err)
}

// Err says why pods were not freed. It is worth another try soon, unless the Job of the
// pods is there after all.
func (o *Orphans) Err() error { return o.core.Result().Err }

// Route is whom a change of a pod concerns.
type Route struct {
	// Owners are the controllers of the pod before and after the change. If the Job of
	// one is gone, the pod is an orphan: see [NewOrphans].
	Owners []metav1.OwnerReference
	// Selecting says that the change concerns the Jobs of the namespace whose selector
	// matches the pod's labels. If there are none, and the pod carries the finalizer, it
	// is an orphan.
	Selecting bool
}

// RouteOf returns whom a change of a pod concerns; before is nil for a new pod, after
// for one that is gone.
func RouteOf(before, after *corev1.Pod) Route { return Route(machine.RouteOf(before, after)) }
