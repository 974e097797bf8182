package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Done says what became of a decision's creations and deletions.
type Done struct {
	// NotCreated is the number of Create that were not created, because they
	// failed or were not tried.
	NotCreated int
	// Untried is how many of those were not tried.
	Untried int
	// NotDeleted are the pods of Delete that are still there: their deletion,
	// or the removal of their finalizer before it, failed. A pod that was gone
	// already has been deleted.
	NotDeleted []types.UID
}

// Revise returns the decision as it is when some creations or deletions have
// failed. The pods to create and delete stay listed as they were; what follows
// from them is worked out anew.
func (d Decision) Revise(done Done) Decision {
	if d.next == nil {
		return d
	}
	return d.next.decision(done)
}

// counts are the numbers of pods once the actions are carried out.
type counts struct{ active, ready, terminating int32 }

func (s *step) countAfter(done Done) counts {
	c := counts{s.census.Active, s.census.Ready, s.census.Terminating}
	created := len(s.work.create) - min(max(done.NotCreated, 0), len(s.work.create))
	c.active += int32(created)
	kept := make(map[types.UID]struct{}, len(done.NotDeleted))
	for _, uid := range done.NotDeleted {
		kept[uid] = struct{}{}
	}
	for i := range s.work.delete {
		d := &s.work.delete[i]
		if _, ok := kept[d.Pod.UID]; ok {
			continue
		}
		c.active--
		c.terminating++
		if d.ready {
			c.ready--
		}
	}
	return c
}

// decision works out, in a step of its own, what holds once the actions are
// carried out as told.
func (p *step) decision(done Done) Decision {
	s := new(step)
	*s = *p // what is filled in below belongs to this decision alone
	s.after, s.decided, s.throttled = s.countAfter(done), true, false
	s.final = s.endAfter(len(done.NotDeleted) > 0)
	s.account = s.census.Account(s.terms())
	change := s.fillStatus()
	d := Decision{
		Claim:   s.claims,
		Delete:  s.work.delete,
		Create:  s.work.create,
		Strip:   s.account.Strip,
		Backoff: s.record,
		Requeue: least(s.work.wait, s.deadline),
		Action:  s.work.action,
		uid:     s.job.UID,
	}
	var m metrics
	if s.work.action == actionCreated && len(s.work.create) > 0 {
		m.created(s, int(s.after.active-s.census.Active), max(0, done.NotCreated-max(done.Untried, 0)))
	}
	changed := !jobstatus.Equal(&s.base, &s.job.Status)
	if wait := s.putOff(change); wait > 0 && (changed || len(d.Strip) > 0) {
		s.throttled = true
		d.Strip, d.Backoff, d.Requeue = nil, s.memory, least(d.Requeue, wait)
		d.Metrics, d.next = m, s
		d.Why = s.explain()
		return d
	}
	if changed {
		d.Status = s.base.DeepCopy()
		m.podsFinished(s, &s.job.Status, &s.base, s.oldSets(), s.newSets())
	}
	m.handled(s.account.Handled)
	d.Metrics, d.Events = m, suspensionEvents(change)
	d.next = s
	d.Why = s.explain()
	return d
}

// endAfter is how the Job ends once the actions are carried out. As long as a
// pod is left that should be gone, or a write is still to be seen, it does not:
// there may be pods that nobody has counted.
func (s *step) endAfter(undeleted bool) jobstatus.End {
	if s.end.Ended() {
		if undeleted || !s.satisfied {
			return jobstatus.End{}
		}
		return s.end
	}
	s.factsAfter = s.facts
	s.factsAfter.Settled, s.factsAfter.Active = s.satisfied, s.after.active
	return jobstatus.Decide(&s.factsAfter)
}

func (s *step) terms() tracking.Terms {
	t := tracking.Terms{
		Deleting: s.job.DeletionTimestamp != nil,
		Waiting:  s.before,
		Counted:  s.fates.Counted,
		// The end is known and not stored by this decision: what shows it must stay.
		KeepFailsJob: s.end.Ended() && !s.end.Decided && !s.final.Ended(),
		Cap:          s.uncountedCap,
	}
	switch {
	case s.final.Succeeds():
		t.Ending = tracking.Succeeding
	case s.final.Ended():
		t.Ending = tracking.Failing
	}
	return t
}

// fillStatus makes the status to store before any finalizer goes.
func (s *step) fillStatus() jobstatus.Change {
	old, st := &s.job.Status, &s.base
	*st = *old
	st.StartTime = s.start
	st.Active = s.after.active
	st.Ready = &s.after.ready
	st.Terminating = &s.after.terminating
	if s.noReplace {
		st.Terminating = nil
	}
	st.UncountedTerminatedPods = s.account.Lists
	st.Failed = sum(old.Failed, s.account.Failed)
	if s.indexed {
		s.putIndexes(st)
	} else {
		st.Succeeded = sum(old.Succeeded, s.account.Succeeded)
	}
	change := jobstatus.Unchanged
	if s.work.managed && !s.final.Ended() {
		change = jobstatus.Suspend(st, s.suspended, s.now)
	}
	jobstatus.EnterInterim(st, s.final, s.now)
	return change
}

// putIndexes puts the indexes of an Indexed Job into a status.
func (s *step) putIndexes(st *batchv1.JobStatus) {
	completed := int32(s.fates.Completed.Len())
	// The API server lets the counter fall only while completions equal
	// parallelism. A status that says more than its indexes keeps its word
	// until then.
	if completed >= st.Succeeded || s.parallelism == *s.completions {
		st.Succeeded = completed
	}
	// A large set costs a thousand times more to write than to compare, and in
	// most decisions it has not changed.
	if !s.completedIntact || !s.fates.Completed.Equal(s.completedIndexes) {
		st.CompletedIndexes = s.fates.Completed.String()
	}
	switch {
	case !s.perIndex:
		st.FailedIndexes = nil
	case !s.failedIntact || !s.fates.Failed.Equal(s.failedIndexes):
		failed := s.fates.Failed.String()
		st.FailedIndexes = &failed
	}
}

// putOff returns how long the throttle puts the status off. What a user waits
// for is not put off: suspension, the end, the first status.
func (s *step) putOff(change jobstatus.Change) time.Duration {
	if change != jobstatus.Unchanged || s.final.Ended() || s.job.Status.StartTime == nil {
		return 0
	}
	return s.throttle.Wait(s.last, s.now, s.account.Recorded, s.parallelism)
}

func (s *step) oldSets() indexSets { return indexSets{s.fates.Counted, s.failedIndexes} }
func (s *step) newSets() indexSets { return indexSets{s.fates.Completed, s.fates.Failed} }

// sum adds without leaving the range of an int32.
func sum(a, b int32) int32 {
	if a > 1<<31-1-b {
		return 1<<31 - 1
	}
	return a + b
}

// least returns the lesser of two waits, where 0 is no wait.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func suspensionEvents(change jobstatus.Change) []Event {
	switch change {
	case jobstatus.Suspended:
		return []Event{{Normal, "Suspended", "Job suspended"}}
	case jobstatus.Resumed:
		return []Event{{Normal, "Resumed", "Job resumed"}}
	}
	return nil
}

// afterTheEnd is the decision for a Job that has ended: its status is never
// touched again, and whatever finalizer is left goes.
func (v *view) afterTheEnd() Decision {
	s := &step{view: v}
	s.countIndexes()
	d := Decision{Backoff: v.memory, uid: v.job.UID, Why: s.explain()}
	for _, claim := range s.claims {
		if claim.Relation != tracking.Adoptable {
			d.Claim = append(d.Claim, claim)
		}
	}
	for _, r := range s.census.InOrder(tracking.Tracked) {
		d.Strip = append(d.Strip, r.Pod)
	}
	return d
}

// waitForJob is the decision while the Job in the snapshot is older than a
// status that has been stored: to wait.
func (v *view) waitForJob() Decision {
	s := &step{view: v}
	s.countIndexes()
	return Decision{Backoff: v.memory, Requeue: v.batchPeriod, uid: v.job.UID, Why: s.explain()}
}
