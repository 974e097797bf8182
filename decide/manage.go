package decide

import (
	"cmp"
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/tracking"
)

// manage brings the number of active pods in line with the spec. It deletes or
// creates, never both.
func (s *state) manage(record backoff.Record) work {
	active := s.census.Active
	if s.spec.Suspended {
		return work{action: actionDeleted, managed: true, delete: s.deletions(int(active), CauseSuspended)}
	}
	w := work{action: actionTracking, managed: true, want: s.wantActive()}
	most := cmp.Or(s.config.ChangesCap, defaultChanges)
	surplus := s.deletions(int(max(0, active-w.want)), CauseTooMany)
	w.delete = surplus[:min(most, len(surplus))]
	w.deferred.Delete = int32(len(surplus) - len(w.delete))
	if len(w.delete) > 0 {
		w.action = actionDeleted
		return w
	}
	missing := w.want - active
	if s.spec.ReplaceFailedOnly {
		missing -= s.census.Terminating
	}
	if missing > 0 {
		w.action = actionCreated
		w.create, w.wait = s.creations(min(int(missing), most), record)
		if len(w.create) > 0 {
			possible := int(missing)
			if s.spec.Indexed {
				possible = min(possible, s.census.Vacancies())
			}
			w.deferred.Create = int32(max(0, possible-most))
		}
	}
	return w
}

// wantActive returns the number of pods that should be active.
func (s *state) wantActive() int32 {
	if s.spec.Completions == nil {
		// The pods share a work queue, and the first success means that the queue
		// is empty. The other pods then run to their end, and none is added.
		if s.succeeded > 0 {
			return s.census.Active
		}
		return s.spec.Parallelism
	}
	return min(s.spec.Parallelism, max(0, *s.spec.Completions-s.succeeded))
}

// creations returns the pods to create, at most the given number, and the time until
// another pod that is backing off may be created. In an Indexed Job they are the pods of the
// lowest indexes that have no pod and need one.
//
// An index that is backing off occupies a slot unless FillFreeSlots is set, because the Job
// controller picks indexes before it checks their delays.
func (s *state) creations(most int, record backoff.Record) (create []Creation, wait time.Duration) {
	if !s.spec.PerIndex() {
		wait = s.config.Backoff.Remaining(record.Failures, record.LastFailure, s.Now)
		if wait > 0 {
			return nil, max(wait, s.config.BatchPeriod)
		}
	}
	var from *blueprint // made only if a pod is created: it copies the template
	add := func(index int32, failed *census.Record) {
		if from == nil {
			from = s.blueprint()
		}
		create = append(create, from.creation(index, failed))
	}
	if !s.spec.Indexed {
		for range most {
			add(tracking.NoIndex, nil)
		}
	}
	picked := 0
	for index, failed := range s.census.Vacant() {
		if picked == most {
			break
		}
		delay := s.delayAfter(failed)
		if delay == 0 {
			add(index, failed)
		} else {
			wait = soonest(wait, max(delay, s.config.BatchPeriod))
		}
		if delay == 0 || !s.config.FillFreeSlots {
			picked++
		}
	}
	return create, wait
}

// delayAfter returns how long an index must wait for the pod that replaces a failed one (KEP-3850 §
// Exponential backoff delay per index). The first pod of an index, which replaces nil, does not wait.
func (s *state) delayAfter(failed *census.Record) time.Duration {
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return s.config.Backoff.Remaining(failures, failed.Finish(), s.Now)
}
