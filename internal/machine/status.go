package machine

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

// askStatus stores the status of the outcome, given what became of creations and
// deletions. Only after that may finalizers go.
func (s *sync) askStatus() []exchange {
	if s.done.NotCreated > 0 || len(s.done.NotDeleted) > 0 {
		s.become(s.result.Outcome.Close(s.done))
	}
	if o := s.result.Outcome; o.Changed && !o.PutOff {
		return []exchange{s.statusOf(&o.Status)}
	}
	s.remember()
	return nil
}

func (s *sync) hearStatus(batch []exchange) step {
	if !s.store(&batch[0]) {
		return over
	}
	s.remember()
	return stripPods
}

// remember remembers what the decision asks to remember once its status is stored,
// and tells of it.
func (s *sync) remember() {
	o := s.result.Outcome
	s.Backoff = o.Backoff
	s.tell(o.Events...)
	s.result.Metrics = append(s.result.Metrics, o.Metrics...)
}

// askSettle stores the status that follows once finalizers are gone.
func (s *sync) askSettle() []exchange {
	if s.settled = s.result.Outcome.Settle(s.gone); s.settled.Status != nil {
		return []exchange{s.statusOf(s.settled.Status)}
	}
	s.conclude()
	return nil
}

func (s *sync) hearSettle(batch []exchange) step {
	if s.store(&batch[0]) {
		s.conclude()
	}
	return over
}

func (s *sync) conclude() {
	s.tell(s.settled.Events...)
	s.result.Metrics = append(s.result.Metrics, s.settled.Metrics...)
	s.result.Ended = s.settled.Finished
}

// statusOf is a write of a status, on top of the version that was read or stored last.
func (s *sync) statusOf(status *batchv1.JobStatus) exchange {
	return exchange{Request: Request{Verb: PatchStatus, Name: s.Key.Name, UID: s.Job,
		Patch: jobstatus.Patch(s.Job, s.version, status), Status: status.DeepCopy()}}
}

// store hears what became of a status write, and reports whether it was stored.
func (s *sync) store(x *exchange) bool {
	if x.fate() != done {
		s.end(fmt.Errorf("storing the status: %w", x.failure()))
		return false
	}
	stored := x.meta()
	if stored == nil {
		// Without its version nothing can be stored on top of it, or observed.
		s.lose(x)
		s.end(fmt.Errorf("storing the status: %w: it has no object", ErrNoAnswer))
		return false
	}
	s.version = stored.GetResourceVersion()
	s.Sure, s.LastStatus, s.Known = true, s.view.Now, newest(s.Known, s.version)
	return true
}

func (s *sync) tell(events ...decide.Event) { s.result.Events = append(s.result.Events, events...) }

// least returns the least of two waits, where 0 is no wait.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
