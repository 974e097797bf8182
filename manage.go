package jobfate

import (
	"time"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/tracking"
)

// The actions are the values of Decision.Action.
const (
	actionReconciling = "reconciling"
	actionTracking    = "tracking"
	actionCreated     = "pods_created"
	actionDeleted     = "pods_deleted"
)

// work is the pods to create and delete.
type work struct {
	action  string
	managed bool // the number of pods was brought in line with the spec
	delete  []Deletion
	create  []Creation
	wait    time.Duration // until some pod may be created
	want    int32         // the number of active pods aimed at
}

// deleteAll deletes the pods of a Job that ends. They keep their finalizers, so
// that they are counted.
func (s *step) deleteAll() work {
	w := work{action: actionReconciling}
	for _, r := range s.census.InOrder(tracking.Active) {
		w.delete = append(w.delete, Deletion{Pod: r.Pod, ready: r.Is(tracking.Ready), Cause: CauseJobEnds})
	}
	return w
}

// manage brings the number of active pods in line with the spec. It deletes or
// creates, never both.
func (s *step) manage() work {
	active := s.census.Active
	w := work{action: actionTracking, managed: true}
	if s.suspended {
		w.action = actionDeleted
		w.delete = s.deletions(int(active), CauseSuspended)
		return w
	}
	w.want = s.wantActive()
	w.delete = s.deletions(int(max(0, active-w.want)), CauseTooMany)
	if len(w.delete) > s.changesCap {
		w.delete = w.delete[:s.changesCap]
	}
	if len(w.delete) > 0 {
		w.action = actionDeleted
		return w
	}
	missing := w.want - active
	if s.replaceFailedOnly {
		missing -= s.census.Terminating
	}
	if missing > 0 {
		w.action = actionCreated
		s.create(&w, int(missing))
	}
	return w
}

// wantActive is the number of pods that should be active.
func (s *step) wantActive() int32 {
	if s.completions == nil {
		// Each pod can tell that the work is done. Once one has, the others are
		// let finish, and none is added.
		if s.succeeded > 0 {
			return s.census.Active
		}
		return s.parallelism
	}
	return min(s.parallelism, max(0, *s.completions-s.succeeded))
}

// create fills w with the pods that are missing, or with the time until they
// may be created.
func (s *step) create(w *work, missing int) {
	if !s.perIndex {
		if w.wait = s.atLeastBatch(s.record.Remaining(s.delays, s.now)); w.wait > 0 {
			return
		}
	}
	missing = min(missing, s.changesCap)
	if !s.indexed {
		from := s.blueprint()
		for range missing {
			w.create = append(w.create, from.creation())
		}
		return
	}
	chosen := s.chooseIndexes(missing)
	w.wait = s.atLeastBatch(chosen.wait)
	if len(chosen.ready) == 0 {
		return
	}
	from := s.blueprint()
	for _, index := range chosen.ready {
		w.create = append(w.create, from.creationFor(index, s.before.Of(index)))
	}
}

// atLeastBatch makes a wait no shorter than the batch period; no wait stays none.
func (s *step) atLeastBatch(wait time.Duration) time.Duration {
	if wait <= 0 {
		return 0
	}
	return max(wait, s.batchPeriod)
}

// choice is which indexes get a pod now, and the least time that another of
// those that were looked at must wait.
type choice struct {
	ready []int32
	wait  time.Duration
}

// chooseIndexes picks up to the given number of indexes that have no pod and
// need one, the lowest first.
//
// An index that is backing off takes a place unless free slots are to be
// filled, because the Job controller picks indexes before it looks at delays.
func (s *step) chooseIndexes(count int) choice {
	var c choice
	looked, before := 0, s.before.Walk()
	for index := range s.occupied().Missing(*s.completions) {
		if looked == count {
			break
		}
		left := s.delayAfter(before.Of(index))
		if left == 0 {
			c.ready = append(c.ready, index)
			looked++
			continue
		}
		if c.wait == 0 || left < c.wait {
			c.wait = left
		}
		if !s.fillSlots {
			looked++
		}
	}
	return c
}

// occupied are the indexes that get no new pod.
func (s *step) occupied() indexset.Set {
	set := s.fates.Finished().Union(s.active)
	if s.replaceFailedOnly {
		set = set.Union(s.census.Indexes(tracking.Terminating))
	}
	return set
}

// indexDelay is how long an index must wait for its next pod (KEP-3850 §
// Exponential backoff delay per index).
func (s *step) indexDelay(index int32) time.Duration { return s.delayAfter(s.before.Of(index)) }

// delayAfter is how long the pod that replaces a failed one must wait; nil is
// none.
func (s *step) delayAfter(failed *tracking.Record) time.Duration {
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return s.delays.Remaining(failures, failed.Finish(), s.now)
}
