package decide

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// statusAfter returns the status to store before any finalizer is removed, and how the
// Suspended condition changes.
func (v *View) statusAfter(p *Plan, after Counts, end lifecycle.End, account *census.Account) (batchv1.JobStatus, lifecycle.Change) {
	st := v.Job.Status // a shallow copy: fields are replaced, what they point to is not changed
	st.StartTime = p.Start
	st.Active = after.Active
	st.Ready = &after.Ready
	st.Terminating = &after.Terminating
	if v.Config.WithoutReplacement {
		st.Terminating = nil
	}
	st.UncountedTerminatedPods = account.Lists
	st.Failed = census.Sum(st.Failed, account.Failed)
	if v.Spec.Indexed {
		v.putIndexes(&st)
	} else {
		st.Succeeded = census.Sum(st.Succeeded, account.Succeeded)
	}
	change := lifecycle.Unchanged
	if p.Work.Managed && !end.Ended() {
		change = lifecycle.Suspend(&st, v.Spec.Suspended, v.Now)
	}
	lifecycle.EnterInterim(&st, end, v.Now)
	return st, change
}

// putIndexes sets the indexes of an Indexed Job in a status.
func (v *View) putIndexes(out *batchv1.JobStatus) {
	results := &v.Totals.Results
	completed := int32(results.Completed.Len())
	// The API server lets status.succeeded fall only while completions equal
	// parallelism. Otherwise a counter above the number of completed indexes stays.
	if completed >= out.Succeeded || v.Spec.Parallelism == *v.Spec.Completions {
		out.Succeeded = completed
	}
	// Formatting a large set takes a thousand times longer than comparing it, and most
	// decisions do not change it.
	if old := v.Status.Completed; !old.Intact || !results.Completed.Equal(old.Set) {
		out.CompletedIndexes = results.Completed.String()
	}
	switch old := v.Status.Failed; {
	case !v.Spec.PerIndex:
		out.FailedIndexes = nil
	case !old.Intact || !results.Failed.Equal(old.Set):
		failed := results.Failed.String()
		out.FailedIndexes = &failed
	}
}
