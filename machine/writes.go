package machine

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

var errNoObject = fmt.Errorf("%w: the response contains no object", errNoAnswer)

// writes holds the writes of a decision after its claims, and their results.
type writes struct {
	concluded map[types.UID]bool // the pods that need no deletion after the patch before it
	creations []creation         // the creations that have not been sent
	batchSize int                // the number of creations in the next batch
	failed    int                // the number of creations that failed
	kept      []types.UID        // the pods whose deletion failed
	version   string             // the last known version of the object that holds the status
	counted   memory.Counted     // what the last status counts that was sent
	removed   []types.UID        // the pods whose finalizer was removed after the status write
	settled   decide.Settled
}

// creation is a pod to create. collisions is how often its name was already in use.
type creation struct {
	*decide.Creation
	collisions int
}

// mostCollisions is how often a creation is retried with another name.
const mostCollisions = 3

func (s *sync) keys() tracking.Keys { return s.options.Controller().Keys }

// askVerdict stores the interim condition before the first pod is deleted for it: what shows the verdict may be gone in
// the next sync. If it cannot be stored yet, the deletions wait.
func (s *sync) askVerdict() []*exchange {
	first, again := s.result.Decision.VerdictFirst()
	s.setDecision(first)
	if !again {
		return nil
	}
	return s.patchStatus(first.Status)
}

// handleVerdict decides again, on the Job as it is stored now.
func (s *sync) handleVerdict(batch []*exchange) step {
	if s.handleStatus(batch) == over {
		return over
	}
	d := &s.result.Decision
	s.report(nil, d.Metrics)
	job := *s.view.Job
	job.Status = *d.Status
	if s.view.StatusVersion == "" {
		job.ResourceVersion = s.writes.version
	} else {
		s.view.StatusVersion = s.writes.version
	}
	s.view.Job, s.Backoff = &job, d.Backoff
	return decideNow
}

// askStripFirst removes the finalizer from pods whose deletion does not count (KEP-2307
// § Deleted Pods). The patch names the resource version, because a pod that has changed may
// have finished and must then be counted.
func (s *sync) askStripFirst() []*exchange {
	return patches(s.toDelete(func(d *decide.Deletion) bool { return d.StripFirst }), s.keys().StripPatchAt)
}

// toDelete returns the pods of the selected deletions, each at the version that an adoption by this sync has given it.
func (s *sync) toDelete(selected func(*decide.Deletion) bool) (pods []*corev1.Pod) {
	for i := range s.result.Decision.Delete {
		d := &s.result.Decision.Delete[i]
		if !selected(d) {
			continue
		}
		pod := d.Pod
		if version := s.adopted[pod.UID]; version != "" {
			adopted := *pod
			adopted.ResourceVersion = version
			pod = &adopted
		}
		pods = append(pods, pod)
	}
	return pods
}

func (s *sync) handleStripFirst(batch []*exchange) step {
	s.writes.concluded = map[types.UID]bool{}
	for _, x := range batch {
		if x.effect() != done {
			s.concludeDeletion(x)
			s.writes.concluded[x.UID] = true
		}
	}
	return deletePods
}

func (s *sync) askDeletions() (batch []*exchange) {
	forEnd := s.result.Decision.ForEnd()
	for _, pod := range s.toDelete(func(d *decide.Deletion) bool { return !s.writes.concluded[d.Pod.UID] }) {
		x := about(pod, DeletePod)
		x.forEnd = forEnd
		x.Options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
		batch = append(batch, x)
	}
	return batch
}

func (s *sync) handleDeletions(batch []*exchange) step {
	for _, x := range batch {
		s.concludeDeletion(x)
	}
	return createPods
}

// concludeDeletion records the answer to a deletion, or to a patch before a deletion that was not
// carried out. A pod that was gone already counts as deleted, but as in Kubernetes there is no
// event for it.
func (s *sync) concludeDeletion(x *exchange) {
	switch x.effect() {
	case done:
		s.event(corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: "+x.Name)
	case missing:
		s.Delete(x.UID, memory.Deleted{Version: x.seen, ForEnd: x.forEnd}) // also if the patch found it gone
	default:
		s.writes.kept = append(s.writes.kept, x.UID)
		if x.Verb == DeletePod {
			s.event(corev1.EventTypeWarning, "FailedDelete", "Error deleting: "+x.err.Error())
		}
		s.fail(x.failure("deleting pod " + x.Name))
	}
}

// askCreations creates pods in batches of 1, 2, 4 and so on until a creation fails: a quota
// that refuses one pod will refuse the others too. Only the pods of the batch are made
// here, so that not all of them are in memory at once.
func (s *sync) askCreations() (batch []*exchange) {
	for _, c := range s.writes.creations[:min(s.writes.batchSize, len(s.writes.creations))] {
		pod := *c.Pod()
		if s.Names != nil {
			pod.Name = s.Names(pod.GenerateName)
		}
		batch = append(batch, &exchange{named: pod.Name, Request: Request{Verb: CreatePod, Pod: &pod}})
	}
	return batch
}

func (s *sync) handleCreations(batch []*exchange) step {
	w := &s.writes
	var retries []creation
	for i, x := range batch {
		c := w.creations[i]
		object, err := x.meta(), x.err
		switch {
		case err == nil && object != nil:
			s.event(corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+object.GetName())
			continue
		case err == nil:
			s.lose(x) // without the UID the pod cannot be observed
			err = errNoObject
		case apierrors.IsAlreadyExists(err) && c.collisions < mostCollisions:
			retries = append(retries, creation{c.Creation, c.collisions + 1})
			continue
		}
		w.failed++
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			continue // later creations will be refused too, and that is no error
		}
		s.event(corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
		s.fail(fmt.Errorf("creating a pod: %w", err))
	}
	w.creations = append(retries, w.creations[len(batch):]...)
	w.batchSize *= 2
	if w.failed == 0 {
		return createPods
	}
	return storeStatus
}

// askStatus stores the status of the outcome, given which creations and deletions
// succeeded. Finalizers may be removed only after that.
func (s *sync) askStatus() []*exchange {
	if w := &s.writes; w.failed > 0 || len(w.kept) > 0 {
		untried := len(w.creations)
		s.setDecision(s.result.Decision.Revise(decide.Undone{Creations: w.failed + untried, Untried: untried,
			Deletions: w.kept}))
	}
	if status := s.result.Decision.Status; status != nil {
		return s.patchStatus(status)
	}
	return nil
}

// askStrips removes the finalizers of the pods that the status records. The backoff record,
// the events and the metrics of the decision hold from here on.
func (s *sync) askStrips() []*exchange {
	d := &s.result.Decision
	s.Backoff = d.Backoff
	s.report(d.Events, d.Metrics)
	return patches(d.Strip, s.keys().StripPatch)
}

func (s *sync) handleStrips(batch []*exchange) step {
	for _, x := range batch {
		if err := x.failure("removing the finalizer of pod " + x.Name); err != nil {
			s.fail(err)
			continue
		}
		if x.effect() == missing {
			s.Strip(x.UID, x.seen, nil) // the finalizer is gone with the pod
		}
		s.writes.removed = append(s.writes.removed, x.UID)
	}
	return settleStatus
}

// askSettle stores the status that counts the pods whose finalizers were removed.
func (s *sync) askSettle() []*exchange {
	s.writes.settled = s.result.Decision.Settle(s.writes.removed...)
	if s.writes.settled.Status != nil {
		return s.patchStatus(s.writes.settled.Status)
	}
	return nil
}

// conclude reports the events and metrics that hold once that status is stored. It sends no request.
func (s *sync) conclude() []*exchange {
	s.report(s.writes.settled.Events, s.writes.settled.Metrics)
	s.result.Ended = s.writes.settled.Finished
	return nil
}

// patchStatus returns the write of a status, with the version that was last read or stored as
// its precondition.
func (s *sync) patchStatus(status *batchv1.JobStatus) []*exchange {
	s.writes.counted = memory.CountedBy(status)
	return []*exchange{{Request: Request{Verb: PatchStatus, Name: s.Key.Name, UID: s.Job,
		Patch: jobstatus.Patch(s.Job, s.writes.version, status), ResourceVersion: s.writes.version,
		Status: status.DeepCopy()}}}
}

// handleStatus handles the answer to a status write.
func (s *sync) handleStatus(batch []*exchange) step {
	x := batch[0]
	stored, err := x.meta(), x.err
	if err == nil && stored == nil {
		s.lose(x) // without its version the write cannot be observed, nor can another follow it
		err = errNoObject
	}
	if err != nil {
		return s.end(fmt.Errorf("storing the status: %w", err))
	}
	s.writes.version = stored.GetResourceVersion()
	s.Sure, s.LastStatus, s.Counted = true, s.view.Now, s.writes.counted
	return s.step + 1
}

// report adds events and metrics to the result.
func (s *sync) report(events []decide.Event, metrics []decide.Metric) {
	s.result.Events = append(s.result.Events, events...)
	s.result.Metrics = append(s.result.Metrics, metrics...)
}

// event adds an event to the result.
func (s *sync) event(kind, reason, message string) {
	s.report([]decide.Event{{Type: kind, Reason: reason, Message: message}}, nil)
}
