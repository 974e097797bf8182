package machine

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
)

var (
	errJobExists = errors.New("the Job of the pods exists, but the cache does not show it yet")
	errOrphans   = errors.New("this Machine frees orphans: it cannot begin a sync")
)

// Free returns a Machine that removes the finalizer from pods that no Job will count: an orphan's finalizer blocks its
// deletion. The pods, at least one, are of one namespace, and owner is the controller reference that they have; nil for
// none. The Machine reads that Job live first, because a cache that does not show it may be stale, and frees no pod if
// it exists. Package route finds orphans.
//
// The Machine has already begun. Run it once and drop it. If its result has an error, retry soon, unless the Job turns
// out to exist.
func Free(owner *metav1.OwnerReference, pods []*corev1.Pod, opts ...decide.Option) *Machine {
	m := New(opts...)
	m.orphans, m.synced, m.memory.Key.Namespace = true, true, pods[0].Namespace
	m.sync = &sync{Machine: m, Memory: &m.memory, options: m.options, step: freePods, owner: owner,
		view: View{Pods: pods}}
	if owner != nil {
		m.sync.step = readOwner
	}
	return m
}

// askOwner reads the Job of the orphans live.
func (s *sync) askOwner() []*exchange { return readOf(s.owner.Name, s.owner.UID) }

func (s *sync) handleOwner(batch []*exchange) step {
	job, err := batch[0].job()
	switch {
	case err != nil:
		return s.end(err)
	case job != nil && job.UID == s.owner.UID:
		return s.end(errJobExists)
	}
	return freePods
}

// askFree removes the finalizers. A patch fails if a Job has adopted the pod meanwhile.
func (s *sync) askFree() []*exchange { return patches(s.view.Pods, s.keys().StripPatchAt) }

func (s *sync) handleFree(batch []*exchange) step {
	for _, x := range batch {
		s.fail(x.failure("freeing pod " + x.Name))
	}
	return over
}
