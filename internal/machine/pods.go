package machine

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/keys"
)

// patchOf returns a patch request for a pod, without the patch.
func patchOf(pod *corev1.Pod) exchange {
	return exchange{seen: pod.ResourceVersion, Request: Request{Verb: PatchPod, Name: pod.Name, UID: pod.UID}}
}

// askStripFirst removes the finalizer from pods whose deletion does not count (KEP-2307
// § Deleted Pods). The patch names the resource version, because a pod that has changed may
// have finished and must then be counted.
func (s *sync) askStripFirst() []exchange {
	deletions := s.result.Outcome.Plan.Work.Delete
	batch := make([]exchange, 0, len(deletions))
	for i := range deletions {
		if d := &deletions[i]; d.StripFirst {
			x := patchOf(d.Record.Pod)
			x.Patch, x.strips = keys.Keys(s.config.Controller.Keys).StripPatchAt(d.Record.Pod), true
			batch = append(batch, x)
		}
	}
	return batch
}

func (s *sync) handleStripFirst(batch []exchange) step {
	s.writes.concluded = map[types.UID]bool{}
	for i := range batch {
		if x := &batch[i]; x.fate() != done {
			s.concludeDeletion(x)
			s.writes.concluded[x.UID] = true
		}
	}
	return deletePods
}

func (s *sync) askDeletions() []exchange {
	deletions := s.result.Outcome.Plan.Work.Delete
	batch := make([]exchange, 0, len(deletions))
	for i := range deletions {
		if pod := deletions[i].Record.Pod; !s.writes.concluded[pod.UID] {
			batch = append(batch, exchange{seen: pod.ResourceVersion, Request: Request{Verb: DeletePod, Name: pod.Name, UID: pod.UID,
				Options: metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}}})
		}
	}
	return batch
}

func (s *sync) handleDeletions(batch []exchange) step {
	for i := range batch {
		s.concludeDeletion(&batch[i])
	}
	return createPods
}

// concludeDeletion records the answer to a deletion, or to a patch before it that was not
// carried out. A pod that was gone already counts as deleted, but as in Kubernetes there is
// no event for it.
func (s *sync) concludeDeletion(x *exchange) {
	switch x.fate() {
	case done:
		s.addEvents(decide.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: " + x.Name})
	case missing:
		s.delete(x) // also if the patch found it gone
	default:
		s.writes.done.NotDeleted = append(s.writes.done.NotDeleted, x.UID)
		if x.Verb == DeletePod {
			s.addEvents(decide.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: " + x.err.Error()})
		}
		s.fail(fmt.Errorf("deleting pod %s: %w", x.Name, x.err))
	}
}

// askCreations creates pods in batches of 1, 2, 4 and so on until a creation fails: a quota
// that refuses one pod will refuse the others too. Only the pods of the batch are made
// here, so that not all of them are in memory at once.
func (s *sync) askCreations() []exchange {
	batch := make([]exchange, 0, min(s.writes.batchSize, len(s.writes.creations)))
	for i := range cap(batch) {
		pod := s.writes.creations[i].Pod()
		if s.config.Names != nil {
			pod.Name = s.config.Names(pod.GenerateName)
		}
		batch = append(batch, exchange{Request: Request{Verb: CreatePod, Pod: pod}})
	}
	return batch
}

func (s *sync) handleCreations(batch []exchange) step {
	w := &s.writes
	var retries []creation
	failed := 0
	for i := range batch {
		x := &batch[i]
		c := w.creations[i]
		object, err := x.meta(), x.err
		switch {
		case x.fate() == done && object != nil:
			s.addEvents(decide.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", Message: "Created pod: " + object.GetName()})
			continue
		case x.fate() == done:
			s.lose(x) // without the UID the pod cannot be observed
			err = fmt.Errorf("%w: the response contains no object", ErrNoAnswer)
		case apierrors.IsAlreadyExists(err) && c.collisions < mostCollisions:
			retries = append(retries, creation{c.Creation, c.collisions + 1})
			continue
		}
		failed++
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			continue // later creations will be refused too, and that is no error
		}
		s.addEvents(decide.Event{Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "Error creating: " + err.Error()})
		s.fail(fmt.Errorf("creating a pod: %w", err))
	}
	w.creations = append(retries, w.creations[len(batch):]...)
	w.batchSize *= 2
	if failed == 0 {
		return createPods
	}
	w.done.Untried = len(w.creations)
	w.done.NotCreated = failed + w.done.Untried
	return storeStatus
}

func (s *sync) askStrips() []exchange {
	batch := make([]exchange, 0, len(s.result.Outcome.Strip))
	for _, pod := range s.result.Outcome.Strip {
		x := patchOf(pod)
		x.Patch, x.strips = s.config.Controller.Keys.StripPatch(pod), true
		batch = append(batch, x)
	}
	return batch
}

func (s *sync) handleStrips(batch []exchange) step {
	for i := range batch {
		x := &batch[i]
		switch x.fate() {
		case missing:
			s.strip(x) // the finalizer is gone with the pod
			fallthrough
		case done:
			s.writes.removed = append(s.writes.removed, x.UID)
		default:
			s.fail(fmt.Errorf("removing the finalizer of pod %s: %w", x.Name, x.err))
		}
	}
	return settleStatus
}

// create remembers a pod that was created, or that exists although the cache does not show
// it.
func (m *Memory) create(pod metav1.Object, now time.Time) {
	m.Created = append(m.Created, Created{UID: pod.GetUID(), Name: pod.GetName(), Version: pod.GetResourceVersion(), At: now})
}

// delete remembers a pod that was deleted or is gone.
func (m *Memory) delete(x *exchange) {
	if m.Deleted == nil {
		m.Deleted = map[types.UID]string{}
	}
	m.Deleted[x.UID] = x.seen
}

// strip remembers a pod that has lost its finalizer or is gone. If the finalizer was the last
// thing that blocked the deletion, the patch has deleted the pod, and the answer has the old
// version.
func (m *Memory) strip(x *exchange) {
	s := Stripped{Version: x.seen}
	if pod := x.meta(); pod != nil && pod.GetUID() == x.UID {
		grace := pod.GetDeletionGracePeriodSeconds()
		if pod.GetDeletionTimestamp() == nil || len(pod.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
			s.Without = pod.GetResourceVersion()
		}
	}
	if m.Stripped == nil {
		m.Stripped = map[types.UID]Stripped{}
	}
	m.Stripped[x.UID] = s
}
