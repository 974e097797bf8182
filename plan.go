package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// step is what has been worked out for a snapshot before anything is done:
// everything that does not depend on which creations and deletions succeed.
type step struct {
	*view

	fates  tracking.Fates
	active indexset.Set // indexes with an active pod
	before tracking.Predecessors

	start     *metav1.Time // the Job's start time, as it is before suspension changes it
	succeeded int32        // succeeded pods, or completed indexes
	failed    int32
	record    backoff.Record // what to remember
	facts     jobstatus.Facts
	end       jobstatus.End // the end, unless only completions bring it about
	// satisfied says that no creation or deletion is still to be seen.
	satisfied bool
	work      work
	deadline  time.Duration // until the deadline; 0 when no timer is needed

	// What decision finds out:
	decided    bool            // the rest has been found out
	after      counts          // of pods, once the actions are carried out
	factsAfter jobstatus.Facts // the facts as they are then
	final      jobstatus.End   // how the Job then ends
	account    tracking.Account
	base       batchv1.JobStatus // the status to store before any finalizer goes
	throttled  bool              // the status is put off
}

// plan works a snapshot out up to the actions to take.
func (v *view) plan() *step {
	s := &step{view: v, satisfied: v.inFlight.Creations <= 0 && v.inFlight.Deletions <= 0}
	s.countIndexes()
	s.startClock()
	// With a backoff limit per index the pods themselves carry the memory, and a
	// pod that waits for its replacement would be news at every look.
	s.record = v.memory
	if !s.perIndex {
		s.record = v.remembered(s.census.News())
	}
	s.findEnd()
	switch {
	case s.end.Ended():
		s.work = s.deleteAll()
	case s.satisfied && v.job.DeletionTimestamp == nil:
		s.work = s.manage()
	default:
		s.work = work{action: actionReconciling}
	}
	return s
}

func (s *step) countIndexes() {
	status := &s.job.Status
	s.failed = s.census.FailedTotal(status.Failed)
	if !s.indexed {
		s.succeeded = s.census.SucceededTotal(status.Succeeded)
		return
	}
	s.fates = s.census.Fates(s.completedIndexes, s.failedIndexes, s.limit)
	s.succeeded = int32(s.fates.Completed.Len())
	s.active = s.census.Indexes(tracking.Active)
	if s.perIndex {
		s.before = s.census.Predecessors(s.fates.Finished(), s.active)
	}
}

// startClock sets the start time of a Job that is seen for the first time. A
// suspended Job has none.
func (s *step) startClock() {
	s.start = s.job.Status.StartTime
	if s.start.IsZero() && !s.suspended {
		now := metav1.NewTime(s.now)
		s.start = &now
	}
}

// findEnd finds out whether the Job ends whatever its pods do next.
func (s *step) findEnd() {
	s.facts = jobstatus.Facts{
		Conditions:       s.job.Status.Conditions,
		FailJob:          s.failJob(),
		Failed:           s.failed,
		Limit:            s.limit,
		Restarts:         s.census.Restarts,
		CountRestarts:    s.census.Lens().Restarts,
		Indexed:          s.indexed,
		Completions:      s.completions,
		MaxFailedIndexes: s.maxFailedIndexes,
		Completed:        s.fates.Completed,
		FailedIndexes:    s.fates.Failed,
		SuccessPolicy:    s.successPolicy,
		Succeeded:        s.succeeded,
	}
	left, limited := s.untilDeadline()
	s.facts.PastDeadline = limited && left <= 0
	s.end = jobstatus.Decide(&s.facts)
	if limited && left > 0 && !s.end.OutranksDeadline() {
		s.deadline = left
	}
}

func (s *step) untilDeadline() (left time.Duration, limited bool) {
	seconds := s.job.Spec.ActiveDeadlineSeconds
	if seconds == nil || s.start.IsZero() || s.suspended {
		return 0, false
	}
	return jobstatus.Deadline(*seconds, s.start.Time, s.now), true
}

// failJob returns the verdict of the FailJob rule that a pod matches, if any.
func (s *step) failJob() *jobstatus.Verdict {
	pod := s.census.FailsJob()
	if pod == nil {
		return nil
	}
	match := s.policy.Match(pod)
	return &jobstatus.Verdict{Reason: match.Reason(s.granular), Message: match.Message()}
}
