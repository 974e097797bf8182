package jobfate

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// step is what has been worked out for a snapshot before anything is done:
// everything that does not depend on which creations and deletions succeed.
type step struct {
	*view
	census *tracking.Census
	claims []Claim
	// foreign are the pods of other owners in the snapshot.
	foreign int

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
	final     jobstatus.End // how the Job ends once the actions are carried out
	account   tracking.Account
	base      *batchv1.JobStatus // the status to store before any finalizer goes
	holding   int32              // pods that terminate
	throttled bool               // the status is put off
}

// plan works a snapshot out up to the actions to take.
func plan(v *view) *step {
	s := &step{view: v, satisfied: v.inFlight.Creations <= 0 && v.inFlight.Deletions <= 0}
	s.take()
	s.countIndexes()
	s.startClock()
	// With a backoff limit per index the pods themselves carry the memory, and a
	// pod that waits for its replacement would be news at every look.
	s.record = v.memory
	if !s.perIndex {
		s.record = v.memory.With(s.census.News())
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

// take makes the census: one pass over the pods.
func (s *step) take() {
	s.census = tracking.NewCensus(tracking.Lens{
		Indexed:           s.indexed,
		Completions:       s.limitOfIndexes(),
		PerIndex:          s.perIndex,
		ReplaceFailedOnly: s.replaceFailedOnly,
		Restarts:          s.job.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Policy:            s.policy,
		Uncounted:         s.uncounted,
		Stripped:          s.stripped(),
	}, len(s.pods))
	for _, pod := range s.pods {
		switch relation := s.owner.Relation(pod); relation {
		case tracking.Owned:
			s.census.Add(pod, false)
		case tracking.Foreign:
			s.foreign++
		default:
			s.claims = append(s.claims, Claim{Pod: pod, Relation: relation, owner: s.controller.Reference(s.job)})
			if relation == tracking.Adoptable {
				s.census.Add(pod, true)
			}
		}
	}
	slices.SortFunc(s.claims, func(a, b Claim) int { return cmp.Compare(a.Pod.UID, b.Pod.UID) })
}

func (s *step) limitOfIndexes() int32 {
	if !s.indexed {
		return 0
	}
	return *s.completions
}

// stripped tells which finalizers have been removed though the pods still show
// them; nil when there are none.
func (s *step) stripped() func(*corev1.Pod) bool {
	if len(s.inFlight.Stripped) == 0 {
		return nil
	}
	set := make(map[types.UID]struct{}, len(s.inFlight.Stripped))
	for _, uid := range s.inFlight.Stripped {
		set[uid] = struct{}{}
	}
	return func(pod *corev1.Pod) bool { _, ok := set[pod.UID]; return ok }
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
