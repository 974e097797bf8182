package chaos_test

import (
	"slices"

	"github.com/jobfate/jobfate"
)

// actionOf returns the action under which the Reconciler counts a sync. If a failed claim
// ended the sync, the decision was not carried out.
func (r *reconciler) actionOf(result jobfate.Result) string {
	d := &result.Decision
	if result.Err != nil && len(d.Claim) > 0 && !r.carriedOut(d) {
		return "reconciling"
	}
	return d.Action
}

// carriedOut reports whether the sync reached the steps after the claims.
func (r *reconciler) carriedOut(d *jobfate.Decision) bool {
	return slices.ContainsFunc(r.asked, func(q jobfate.Request) bool {
		switch q.Verb {
		case jobfate.CreatePod, jobfate.DeletePod, jobfate.PatchStatus:
			return true
		case jobfate.PatchPod:
			return !slices.ContainsFunc(d.Claim, func(c jobfate.Claim) bool { return c.Pod.UID == q.UID })
		}
		return false
	})
}

// audit reports a sync that is counted as creating or deleting pods but sent no such request.
func (r *reconciler) audit(action string, d *jobfate.Decision) {
	creates := func(q jobfate.Request) bool { return q.Verb == jobfate.CreatePod }
	deletes := func(q jobfate.Request) bool {
		return (q.Verb == jobfate.DeletePod || q.Verb == jobfate.PatchPod) &&
			slices.ContainsFunc(d.Delete, func(x jobfate.Deletion) bool { return x.Pod.UID == q.UID })
	}
	if action == "pods_created" && len(d.Create) > 0 && !slices.ContainsFunc(r.asked, creates) ||
		action == "pods_deleted" && len(d.Delete) > 0 && !slices.ContainsFunc(r.asked, deletes) {
		r.env.Fail("a sync counts as %s, but sent no such request", action)
	}
}
