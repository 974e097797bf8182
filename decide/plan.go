package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// The values of Decision.Action.
const (
	actionReconciling = "reconciling"
	actionTracking    = "tracking"
	actionCreated     = "pods_created"
	actionDeleted     = "pods_deleted"
)

// plan holds everything that does not depend on whether the creations and deletions of the decision succeed.
type plan struct {
	// start is the start time before suspending or resuming changes it: the stored one;
	// without one, now, or none if the Job is suspended.
	start  *metav1.Time
	record backoff.Record // holds once the status is stored
	// end is how the Job ends, unless only its completions end it.
	end lifecycle.End
	// limited says that the Job has a deadline, settled that every creation and deletion
	// is observed.
	limited, settled bool
	// remaining is the time until the deadline. It is not positive once the Job has exceeded
	// activeDeadlineSeconds.
	remaining time.Duration
	work      work
}

// work lists the pods to create and delete.
type work struct {
	action   string
	delete   []Deletion
	create   []Creation
	wait     time.Duration // until a pod that is backing off may be created
	managed  bool          // the pods were compared with the spec (see manage)
	want     int32         // the number of active pods to reach
	deferred Deferred
}

// plan returns the plan.
func (s *state) plan() plan {
	p := plan{start: s.Job.Status.StartTime, record: s.record(false),
		settled: s.InFlight.Creations <= 0 && s.InFlight.Deletions <= 0}
	if p.start.IsZero() && !s.spec.Suspended {
		p.start = new(metav1.NewTime(s.Now))
	}
	if seconds := s.Job.Spec.ActiveDeadlineSeconds; seconds != nil && !p.start.IsZero() && !s.spec.Suspended {
		p.limited, p.remaining = true, lifecycle.Deadline(*seconds, p.start.Time, s.Now)
	}
	facts := s.endFacts(p.pastDeadline())
	p.end = lifecycle.EndOf(&facts)
	p.work.action = actionReconciling
	switch {
	case p.end.Ended():
		// The pods keep their finalizers until they are counted.
		for _, r := range s.census.ActiveInOrder() {
			p.work.delete = append(p.work.delete, Deletion{Pod: r.Pod, Cause: CauseJobEnds})
		}
	case p.settled && s.Job.DeletionTimestamp == nil:
		p.work = s.manage(p.record)
	}
	return p
}

// pastDeadline reports whether the Job has exceeded activeDeadlineSeconds.
func (p *plan) pastDeadline() bool { return p.limited && p.remaining <= 0 }

// timer returns the time until the deadline; 0 when no timer is needed.
func (p *plan) timer() time.Duration {
	if p.pastDeadline() || p.end.OutranksDeadline() {
		return 0
	}
	return p.remaining
}

// endFacts returns the facts that the end of the Job depends on, besides the plan.
func (s *state) endFacts(pastDeadline bool) lifecycle.Inputs {
	return lifecycle.Inputs{
		Conditions:       s.Job.Status.Conditions,
		FailJob:          s.failJob(),
		Failed:           s.failed,
		Limit:            s.spec.Limit,
		Restarts:         s.census.Restarts,
		PastDeadline:     pastDeadline,
		Completions:      s.spec.Completions,
		MaxFailedIndexes: s.Job.Spec.MaxFailedIndexes,
		Completed:        s.census.Results.Completed,
		FailedIndexes:    s.census.Results.Failed,
		SuccessPolicy:    s.spec.SuccessPolicy,
		Succeeded:        s.succeeded,
	}
}

// failJob returns the verdict of the FailJob rule that a pod matches; nil if none does.
func (s *state) failJob() *lifecycle.Verdict {
	record := s.census.FailsJob()
	if record == nil {
		return nil
	}
	match := record.Match()
	verdict := &lifecycle.Verdict{Reason: batchv1.JobReasonPodFailurePolicy, Message: match.Message()}
	if s.config.Granular {
		verdict.Reason = failurepolicy.Reason(match.Rule, match.Name)
	}
	return verdict
}

// record returns the backoff record with the pods that are not counted yet added. With a
// backoff limit per index it stays as it is: the pods carry the failure counts, and a pod
// that waits for its replacement would be added at every sync.
//
// kept says that pods with a FailJob verdict keep their finalizer. They are left out, because they
// too would be added at every sync.
func (s *state) record(kept bool) backoff.Record {
	if s.spec.PerIndex() {
		return s.known
	}
	return s.with(s.census.BackoffChange(kept))
}

// recorded returns the backoff record with only the pods added that lose their finalizer now. Those that MaxRemovals
// leaves would be added at every sync. Those that MaxUncounted leaves are, as in the Job controller.
func (s *state) recorded(strip []*corev1.Pod) backoff.Record {
	if s.spec.PerIndex() {
		return s.known
	}
	return s.with(s.census.BackoffChangeOf(strip))
}

// with returns the known backoff record after a change.
//
// In doubt, an earlier status write may already have counted these pods together with the pods that
// the record was rebuilt from, and with MaxRemovals, pods are recorded in the order of their UIDs. The last failure
// is then the later of the two.
func (s *state) with(change census.BackoffChange) backoff.Record {
	record := change.With(s.known)
	unordered := s.inDoubt() || s.config.RemovalsCap > 0
	if unordered && !change.Succeeded && record.LastFailure.Before(s.known.LastFailure) {
		record.LastFailure = s.known.LastFailure
	}
	return record
}
