package machine

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// askStatus stores the status of the outcome, given which creations and deletions
// succeeded. Finalizers may be removed only after that.
func (s *sync) askStatus() []exchange {
	if s.writes.done.NotCreated > 0 || len(s.writes.done.NotDeleted) > 0 {
		s.setOutcome(s.result.Outcome.Close(s.writes.done))
	}
	if o := s.result.Outcome; o.Changed && !o.PutOff {
		return []exchange{s.statusOf(&o.Status)}
	}
	s.remember()
	return nil
}

func (s *sync) handleStatus(batch []exchange) step {
	if !s.store(&batch[0]) {
		return over
	}
	s.remember()
	return stripPods
}

// remember takes over the backoff record, the events and the metrics of the decision, which
// hold once its status is stored.
func (s *sync) remember() {
	o := s.result.Outcome
	s.Backoff = o.Backoff
	s.addEvents(o.Events...)
	s.result.Metrics = append(s.result.Metrics, o.Metrics...)
}

// askSettle stores the status that counts the pods whose finalizers were removed.
func (s *sync) askSettle() []exchange {
	if s.writes.settled = s.result.Outcome.Settle(s.writes.removed); s.writes.settled.Status != nil {
		return []exchange{s.statusOf(s.writes.settled.Status)}
	}
	s.conclude()
	return nil
}

func (s *sync) handleSettle(batch []exchange) step {
	if s.store(&batch[0]) {
		s.conclude()
	}
	return over
}

func (s *sync) conclude() {
	s.addEvents(s.writes.settled.Events...)
	s.result.Metrics = append(s.result.Metrics, s.writes.settled.Metrics...)
	s.result.Ended = s.writes.settled.Finished
}

// statusOf returns the write of a status, with the version that was last read or stored as
// its precondition.
func (s *sync) statusOf(status *batchv1.JobStatus) exchange {
	return exchange{Request: Request{Verb: PatchStatus, Name: s.Key.Name, UID: s.Job,
		Patch: jobstatus.Patch(s.Job, s.writes.version, status), Status: status.DeepCopy()}}
}

// store handles the answer to a status write, and reports whether the status was stored.
func (s *sync) store(x *exchange) bool {
	if x.fate() != done {
		s.end(fmt.Errorf("storing the status: %w", x.err))
		return false
	}
	stored := x.meta()
	if stored == nil {
		// Without its version the write cannot be observed, nor can another follow it.
		s.lose(x)
		s.end(fmt.Errorf("storing the status: %w: the response contains no object", ErrNoAnswer))
		return false
	}
	s.writes.version = stored.GetResourceVersion()
	s.Sure, s.LastStatus, s.Known = true, s.view.Now, newest(s.Known, s.writes.version)
	return true
}

func (s *sync) addEvents(events ...decide.Event) {
	s.result.Events = append(s.result.Events, events...)
}

// least returns the shorter of two waits. 0 means no wait.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
