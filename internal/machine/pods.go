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
	batch := make([]exchange, 0, len(s.writes.deletions))
	for i := range s.writes.deletions {
		if d := &s.writes.deletions[i]; d.StripFirst {
			x := patchOf(d.Record.Pod)
			x.Patch, x.strips, x.at = keys.Keys(s.Config.Controller.Keys).StripPatchAt(d.Record.Pod), true, i
			batch = append(batch, x)
		}
	}
	return batch
}

func (s *sync) handleStripFirst(batch []exchange) step {
	var stripped []Stripped
	for i := range batch {
		x := &batch[i]
		d := &s.writes.deletions[x.at]
		switch x.fate() {
		case done:
			stripped = append(stripped, strippedBy(x))
		case missing:
			d.missing = true
		default:
			d.err = x.failure()
		}
	}
	s.strip(stripped)
	return deletePods
}

func (s *sync) askDeletions() []exchange {
	batch := make([]exchange, 0, len(s.writes.deletions))
	for i := range s.writes.deletions {
		d := &s.writes.deletions[i]
		if d.missing || d.err != nil {
			continue
		}
		pod := d.Record.Pod
		batch = append(batch, exchange{at: i, seen: pod.ResourceVersion, Request: Request{Verb: DeletePod, Name: pod.Name, UID: pod.UID,
			Options: metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}}})
	}
	if len(batch) == 0 {
		s.concludeDeletions()
	}
	return batch
}

func (s *sync) handleDeletions(batch []exchange) step {
	for i := range batch {
		x := &batch[i]
		d := &s.writes.deletions[x.at]
		d.sent = true
		switch x.fate() {
		case done:
		case missing:
			d.missing = true
		default:
			d.err = x.failure()
		}
	}
	s.concludeDeletions()
	return createPods
}

// concludeDeletions records the results of the deletions. A pod that was gone already
// counts as deleted, but as in Kubernetes there is no event for it.
func (s *sync) concludeDeletions() {
	var deleted []Deleted
	for i := range s.writes.deletions {
		d := &s.writes.deletions[i]
		pod := d.Record.Pod
		if d.err == nil {
			deleted = append(deleted, Deleted{pod.UID, pod.ResourceVersion})
			if !d.missing {
				s.addEvents(decide.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name})
			}
			continue
		}
		s.writes.done.NotDeleted = append(s.writes.done.NotDeleted, pod.UID)
		if d.sent {
			s.addEvents(decide.Event{Type: corev1.EventTypeWarning, Reason: "FailedDelete", Message: "Error deleting: " + d.err.Error()})
		}
		s.fail(fmt.Errorf("deleting pod %s: %w", pod.Name, d.err))
	}
	s.delete(deleted)
	s.writes.deletions = nil
}

// askCreations creates pods in batches of 1, 2, 4 and so on until a creation fails: a quota
// that refuses one pod will refuse the others too. Only the pods of the batch are made
// here, so that not all of them are in memory at once.
func (s *sync) askCreations() []exchange {
	batch := make([]exchange, 0, min(s.writes.batchSize, len(s.writes.creations)))
	for i := range cap(batch) {
		pod := s.writes.creations[i].Pod()
		if s.Config.Names != nil {
			pod.Name = s.Config.Names(pod.GenerateName)
		}
		batch = append(batch, exchange{at: i, seen: pod.ResourceVersion, Request: Request{Verb: CreatePod, Pod: pod}})
	}
	return batch
}

func (s *sync) handleCreations(batch []exchange) step {
	w := &s.writes
	var retries []creation
	failed := 0
	for i := range batch {
		x := &batch[i]
		c := w.creations[x.at]
		object, err := x.meta(), x.failure()
		switch {
		case x.fate() == done && object != nil:
			s.create(object, s.view.Now)
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
		if namespaceTerminating(err) {
			continue // neither an event nor a retry
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
		x.Patch, x.strips = s.Config.Controller.Keys.StripPatch(pod), true
		batch = append(batch, x)
	}
	return batch
}

func (s *sync) handleStrips(batch []exchange) step {
	var stripped []Stripped
	for i := range batch {
		x := &batch[i]
		switch x.fate() {
		case done, missing:
			stripped = append(stripped, strippedBy(x))
			s.writes.removed = append(s.writes.removed, x.UID)
		default:
			s.fail(fmt.Errorf("removing the finalizer of pod %s: %w", x.Name, x.failure()))
		}
	}
	s.strip(stripped)
	return settleStatus
}

// create remembers a pod that was created, or that exists although the cache does not show
// it.
func (m *Memory) create(pod metav1.Object, now time.Time) {
	m.Created = append(m.Created, Created{UID: pod.GetUID(), Name: pod.GetName(), Version: pod.GetResourceVersion(), At: now})
}

// delete remembers pods that were deleted.
func (m *Memory) delete(pods []Deleted) {
	m.Deleted = replace(m.Deleted, pods, func(d Deleted) types.UID { return d.UID })
}

// strip remembers pods that have lost their finalizer or are gone.
func (m *Memory) strip(pods []Stripped) {
	m.Stripped = replace(m.Stripped, pods, func(s Stripped) types.UID { return s.UID })
}

// strippedBy returns the pod as the answer to its patch shows it. If the finalizer was the
// last thing that blocked the deletion, the patch has deleted the pod, and the answer has
// the old version.
func strippedBy(x *exchange) Stripped {
	s := Stripped{UID: x.UID, Version: x.seen}
	if pod := x.meta(); pod != nil && pod.GetUID() == x.UID {
		grace := pod.GetDeletionGracePeriodSeconds()
		if pod.GetDeletionTimestamp() == nil || len(pod.GetFinalizers()) > 0 || grace != nil && *grace > 0 {
			s.Without = pod.GetResourceVersion()
		}
	}
	return s
}
