package chaos_test

import (
	"fmt"
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

// auditAction returns an error text if a sync is counted as creating or deleting pods but
// sent no such request.
func auditAction(action string, d *jobfate.Decision, asked []jobfate.Request) string {
	sent := func(verb jobfate.Verb, of func(jobfate.Request) bool) bool {
		return slices.ContainsFunc(asked, func(q jobfate.Request) bool { return q.Verb == verb && of(q) })
	}
	var acted bool
	switch {
	case action == "pods_created" && len(d.Create) > 0:
		acted = sent(jobfate.CreatePod, func(jobfate.Request) bool { return true })
	case action == "pods_deleted" && len(d.Delete) > 0:
		surplus := func(q jobfate.Request) bool {
			return slices.ContainsFunc(d.Delete, func(x jobfate.Deletion) bool { return x.Pod.UID == q.UID })
		}
		acted = sent(jobfate.DeletePod, surplus) || sent(jobfate.PatchPod, surplus)
	default:
		return ""
	}
	if acted {
		return ""
	}
	return fmt.Sprintf("a sync counts as %s, but sent no such request", action)
}
