package machine

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/jobstatus"
)

var errNoObject = fmt.Errorf("%w: the response contains no object", ErrNoAnswer)

// askStatus stores the status of the outcome, given which creations and deletions
// succeeded. Finalizers may be removed only after that.
func (s *sync) askStatus() []*exchange {
	if s.writes.done.NotCreated > 0 || len(s.writes.done.NotDeleted) > 0 {
		s.setOutcome(s.result.Outcome.Close(s.writes.done))
	}
	if o := s.result.Outcome; o.Changed && !o.PutOff {
		return s.patchStatus(&o.Status)
	}
	return nil
}

// askStrips removes the finalizers of the pods that the status records. The backoff record,
// the events and the metrics of the decision hold from here on.
func (s *sync) askStrips() []*exchange {
	o := s.result.Outcome
	s.Backoff = o.Backoff
	s.report(o.Events, o.Metrics)
	return patches(o.Strip, s.keys().StripPatch)
}

// askSettle stores the status that counts the pods whose finalizers were removed.
func (s *sync) askSettle() []*exchange {
	if s.writes.settled = s.result.Outcome.Settle(s.writes.removed); s.writes.settled.Status != nil {
		return s.patchStatus(s.writes.settled.Status)
	}
	return nil
}

// conclude reports what holds once that status is stored. It needs no request.
func (s *sync) conclude() []*exchange {
	s.report(s.writes.settled.Events, s.writes.settled.Metrics)
	s.result.Ended = s.writes.settled.Finished
	return nil
}

// patchStatus returns the write of a status, with the version that was last read or stored as
// its precondition.
func (s *sync) patchStatus(status *batchv1.JobStatus) []*exchange {
	return []*exchange{{Request: Request{Verb: PatchStatus, Name: s.Key.Name, UID: s.Job,
		Patch: jobstatus.Patch(s.Job, s.writes.version, status), Status: status.DeepCopy()}}}
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
	s.Sure, s.LastStatus, s.Known = true, s.view.Now, newest(s.Known, s.writes.version)
	return s.step + 1
}

// report adds events and metrics to the result.
func (s *sync) report(events []decide.Event, metrics []decide.Metric) {
	s.result.Events = append(s.result.Events, events...)
	s.result.Metrics = append(s.result.Metrics, metrics...)
}
