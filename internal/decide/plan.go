package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// The values of Work.Action.
const (
	ActionReconciling = "reconciling"
	ActionTracking    = "tracking"
	ActionCreated     = "pods_created"
	ActionDeleted     = "pods_deleted"
)

// Plan is the state of the Job, and the pods to create and delete: everything that does
// not depend on whether these creations and deletions succeed.
type Plan struct {
	// Start is the start time before suspending or resuming changes it: the stored one;
	// without one, now, or none if the Job is suspended.
	Start  *metav1.Time
	Record backoff.Record // holds once the status is stored
	// End is how the Job ends, unless only its completions end it.
	End lifecycle.End
	// Limited says that the Job has a deadline, Settled that every creation and deletion
	// is observed.
	Limited, Settled bool
	// Remaining is the time until the deadline. It is not positive once the Job has exceeded
	// activeDeadlineSeconds.
	Remaining time.Duration
	Work      Work
}

// Work is the pods to create and delete.
type Work struct {
	Action   string
	Delete   []Deletion
	Create   []Creation
	Wait     time.Duration // until a pod that is backing off may be created
	Managed  bool          // the pods were compared with the spec (see manage)
	Want     int32         // the number of active pods to reach
	Deferred Deferred
}

// Deferred is the work that the caps leave for the next sync, in pods.
type Deferred struct{ Create, Delete, Strip int }

func (v *View) plan() Plan {
	p := Plan{Start: v.Job.Status.StartTime, Record: v.record(false),
		Settled: v.InFlight.Creations <= 0 && v.InFlight.Deletions <= 0}
	if p.Start.IsZero() && !v.Spec.Suspended {
		now := metav1.NewTime(v.Now)
		p.Start = &now
	}
	if seconds := v.Job.Spec.ActiveDeadlineSeconds; seconds != nil && !p.Start.IsZero() && !v.Spec.Suspended {
		p.Limited, p.Remaining = true, lifecycle.Deadline(*seconds, p.Start.Time, v.Now)
	}
	facts := v.Facts(p.PastDeadline())
	p.End = lifecycle.Decide(&facts)
	p.Work.Action = ActionReconciling
	switch {
	case p.End.Ended():
		// The pods keep their finalizers until they are counted.
		for _, r := range v.Census.ActiveInOrder() {
			p.Work.Delete = append(p.Work.Delete, Deletion{Record: r, Cause: CauseJobEnds})
		}
	case p.Settled && v.Job.DeletionTimestamp == nil:
		p.Work = v.manage(p.Record)
	}
	return p
}

// PastDeadline reports whether the Job has exceeded activeDeadlineSeconds.
func (p *Plan) PastDeadline() bool { return p.Limited && p.Remaining <= 0 }

// Timer returns the time until the deadline; 0 when no timer is needed.
func (p *Plan) Timer() time.Duration {
	if p.PastDeadline() || p.End.OutranksDeadline() {
		return 0
	}
	return p.Remaining
}

// FailsAt returns the deadline of the Job; zero without one.
func (o *Outcome) FailsAt() (at time.Time) {
	if o.Plan.Limited {
		at = o.View.Now.Add(o.Plan.Remaining)
	}
	return at
}

// Facts returns what the end of the Job depends on, besides the plan.
func (v *View) Facts(pastDeadline bool) lifecycle.Facts {
	return lifecycle.Facts{
		Conditions:       v.Job.Status.Conditions,
		FailJob:          v.failJob(),
		Failed:           v.Totals.Failed,
		Limit:            v.Spec.Limit,
		Restarts:         v.Census.Restarts,
		CountRestarts:    v.Spec.CountRestarts,
		PastDeadline:     pastDeadline,
		Indexed:          v.Spec.Indexed,
		Completions:      v.Spec.Completions,
		MaxFailedIndexes: v.Spec.MaxFailedIndexes,
		Completed:        v.Totals.Results.Completed,
		FailedIndexes:    v.Totals.Results.Failed,
		SuccessPolicy:    v.Spec.SuccessPolicy,
		Succeeded:        v.Totals.Succeeded,
	}
}

// failJob returns the verdict of the FailJob rule that a pod matches; nil if none does.
func (v *View) failJob() *lifecycle.Verdict {
	record := v.Census.FailsJob()
	if record == nil {
		return nil
	}
	match := record.Match()
	verdict := &lifecycle.Verdict{Reason: batchv1.JobReasonPodFailurePolicy, Message: match.Message()}
	if v.Config.Granular {
		verdict.Reason = failurepolicy.Reason(match.Rule, match.Name)
	}
	return verdict
}

// record returns the backoff record with the pods that are not counted yet added. With a
// backoff limit per index it stays as it is: the pods carry the failure counts, and a pod
// that waits for its replacement would be added at every sync.
//
// kept says that pods with a FailJob verdict are kept. They are left out, because they too
// would be added at every sync.
//
// In doubt, an earlier status write may already have counted these pods together with the
// pods that the record was rebuilt from. The last failure is then the latest of both.
func (v *View) record(kept bool) backoff.Record {
	if v.Spec.PerIndex() {
		return v.Backoff
	}
	news := v.Census.News(kept)
	record := news.With(v.Backoff)
	if v.BackoffInDoubt && !news.Succeeded && record.LastFailure.Before(v.Backoff.LastFailure) {
		record.LastFailure = v.Backoff.LastFailure
	}
	return record
}
