package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/lifecycle"
)

// VerdictFirst returns the decision to carry out so that no verdict is forgotten. Usually that is d, with its lists.
//
// But while d deletes pods because the Job ends, and the status of the Job does not have the interim condition, it is a
// decision that deletes nothing. Mostly it stores the condition, with the numbers of pods before the deletions, and
// again says to decide again, on the Job as it is stored. While creations or deletions are unobserved, the condition
// cannot be stored, and the deletions wait.
//
// What shows a verdict may be gone in the next sync: restarts end with their containers, and pods are deleted. A
// Machine does this itself.
func (d Decision) VerdictFirst() (first Decision, again bool) {
	if !d.ForEnd() || d.made == nil || d.made.plan.end.Decided {
		return d, false
	}
	s, p := d.made.state, d.made.plan
	p.work.delete = nil
	if !p.settled {
		return s.close(p, Undone{}).decision().detached(), false
	}
	return s.announcement(p), true
}

// ForEnd reports whether the pods are deleted because the Job ends.
func (d Decision) ForEnd() bool { return len(d.Delete) > 0 && d.Delete[0].Cause == CauseJobEnds }

// announcement returns the decision that stores the interim condition of a plan without deletions, with the indexes
// that it may depend on. It records no pod: the next decision does, on the Job as it is stored.
func (s *state) announcement(p plan) Decision {
	before, listed := s.counts(), &s.spec.Uncounted
	st := s.statusWith(p.start, before)
	// The API server rejects lists with duplicates.
	st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: listed.Succeeded, Failed: listed.Failed}
	if s.spec.Indexed {
		s.putIndexes(&st)
	}
	lifecycle.EnterInterim(&st, p.end, s.Now)
	var m metrics
	m.indexesFinished(s)
	return Decision{Status: st.DeepCopy(), Backoff: s.known, Requeue: s.config.BatchPeriod, Action: p.work.action,
		Metrics: m, made: &outcome{state: s, plan: p, after: before, status: st, changed: true, announces: true}}
}
