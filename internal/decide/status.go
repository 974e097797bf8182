package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// statusAfter makes the status to store before any finalizer goes, and says what
// became of the Suspended condition.
func (v *View) statusAfter(p *Plan, after Counts, end lifecycle.End, account *census.Account) (batchv1.JobStatus, lifecycle.Change) {
	st := v.Job.Status // nothing in it is changed, only replaced
	st.StartTime = p.Start
	st.Active = after.Active
	st.Ready = &after.Ready
	st.Terminating = &after.Terminating
	if v.Config.WithoutReplacement {
		st.Terminating = nil
	}
	st.UncountedTerminatedPods = account.Lists
	st.Failed = sum(st.Failed, account.Failed)
	if v.Spec.Indexed {
		v.putIndexes(&st)
	} else {
		st.Succeeded = sum(st.Succeeded, account.Succeeded)
	}
	change := lifecycle.Unchanged
	if p.Work.Managed && !end.Ended() {
		change = lifecycle.Suspend(&st, v.Spec.Suspended, v.Now)
	}
	lifecycle.EnterInterim(&st, end, v.Now)
	return st, change
}

// putIndexes puts the indexes of an Indexed Job into a status.
func (v *View) putIndexes(st *batchv1.JobStatus) {
	results := &v.Totals.Results
	completed := int32(results.Completed.Len())
	// The API server lets the counter fall only while completions equal
	// parallelism. A status that says more than its indexes keeps its word
	// until then.
	if completed >= st.Succeeded || v.Spec.Parallelism == *v.Spec.Completions {
		st.Succeeded = completed
	}
	// A large set costs a thousand times more to write than to compare, and in
	// most decisions it has not changed.
	if old := v.Status.Completed; !old.Intact || !results.Completed.Equal(old.Set) {
		st.CompletedIndexes = results.Completed.String()
	}
	switch old := v.Status.Failed; {
	case !v.Spec.PerIndex:
		st.FailedIndexes = nil
	case !old.Intact || !results.Failed.Equal(old.Set):
		failed := results.Failed.String()
		st.FailedIndexes = &failed
	}
}
