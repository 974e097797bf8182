package decide

import (
	"time"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// manage brings the number of active pods in line with the spec. It deletes or
// creates, never both.
func (v *View) manage(record backoff.Record) Work {
	active := v.Census.Active
	if v.Spec.Suspended {
		return Work{Action: ActionDeleted, Managed: true, Delete: v.deletions(int(active), CauseSuspended)}
	}
	w := Work{Action: ActionTracking, Managed: true, Want: v.wantActive()}
	w.Delete = v.deletions(int(max(0, active-w.Want)), CauseTooMany)
	if most := v.Config.ChangesCap; len(w.Delete) > most {
		w.Deferred.Delete = len(w.Delete) - most
		w.Delete = w.Delete[:most]
	}
	if len(w.Delete) > 0 {
		w.Action = ActionDeleted
		return w
	}
	missing := w.Want - active
	if v.Spec.ReplaceFailedOnly {
		missing -= v.Census.Terminating
	}
	if missing > 0 {
		w.Action = ActionCreated
		most := v.Config.ChangesCap
		w.Create, w.Wait = v.creations(min(int(missing), most), record)
		if len(w.Create) > 0 && int(missing) > most {
			possible := int(missing)
			if v.Spec.Indexed {
				possible = min(possible, v.Census.Vacancies())
			}
			w.Deferred.Create = max(0, possible-most)
		}
	}
	return w
}

// wantActive returns the number of pods that should be active.
func (v *View) wantActive() int32 {
	if v.Spec.Completions == nil {
		// The pods share a work queue, and the first success means that the queue
		// is empty. The other pods then run to their end, and none is added.
		if v.Totals.Succeeded > 0 {
			return v.Census.Active
		}
		return v.Spec.Parallelism
	}
	return min(v.Spec.Parallelism, max(0, *v.Spec.Completions-v.Totals.Succeeded))
}

// creations returns the pods to create, at most the given number, and the time until
// another pod that is backing off may be created. In an Indexed Job they are the pods of the
// lowest indexes that have no pod and need one.
//
// An index that is backing off uses up a place unless FillFreeSlots is set, because the
// Job controller picks indexes before it checks their delays.
func (v *View) creations(most int, record backoff.Record) (create []Creation, wait time.Duration) {
	if !v.Spec.PerIndex() {
		if wait = v.Config.Backoff.Remaining(record.Failures, record.LastFailure, v.Now); wait > 0 {
			return nil, max(wait, v.Config.BatchPeriod)
		}
	}
	var from *blueprint // made only if a pod is created: it copies the template
	add := func(index int32) {
		if from == nil {
			from = v.blueprint()
		}
		create = append(create, from.creation(index, v.Census.Predecessor(index)))
	}
	if !v.Spec.Indexed {
		for range most {
			add(tracking.NoIndex)
		}
		return create, 0
	}
	picked := 0
	for index := range v.Census.Vacant() {
		if picked == most {
			break
		}
		delay := v.IndexDelay(index)
		if delay == 0 {
			add(index)
		} else {
			wait = Soonest(wait, max(delay, v.Config.BatchPeriod))
		}
		if delay == 0 || !v.Config.FillFreeSlots {
			picked++
		}
	}
	return create, wait
}

// IndexDelay returns how long an index must wait for its next pod (KEP-3850 §
// Exponential backoff delay per index).
func (v *View) IndexDelay(index int32) time.Duration {
	failed := v.Census.Predecessor(index)
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return v.Config.Backoff.Remaining(failures, failed.Finish(), v.Now)
}
