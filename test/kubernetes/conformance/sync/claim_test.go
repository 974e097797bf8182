package sync

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// The divergence failed-claim: how it is excused and pinned.

// actionWithoutFault replaces the action with that of the same sync without failed claims.
func actionWithoutFault(d *dispute) bool {
	if !d.them.claimFailed() || d.planned == "" || d.planned == d.them.outcome.Action {
		return false
	}
	d.them.outcome.Action = d.planned
	return true
}

// plannedAction returns the action of the same trial without failed claims. It is empty if the two
// sides differ there.
func (d *dispute) plannedAction() string {
	plain := *d.trial
	plain.fail.Get, plain.fail.Adopt, plain.fail.Release = nil, nil, nil
	us, err := syncOnce(&plain)
	if err != nil {
		return ""
	}
	if direct := newRun(&plain); !same(direct.outcome, us.out) {
		if _, diff := explain(us, direct); diff != "" {
			return ""
		}
	}
	return us.out.Action
}

// claimFailed reports whether an adoption or a release failed, which ends the sync.
func (r *run) claimFailed() bool {
	return slices.ContainsFunc(r.outcome.Claims, call.failed) ||
		r.in.Fail.Get != nil && slices.ContainsFunc(r.in.Pods, func(p *corev1.Pod) bool { return adoptable(r.in.Job, p) })
}

// A pod to adopt is gone. The real controller continues without the pod in the same sync. The first
// decision of jobfate assumes the adoption. A second decision without the pod equals that of the
// real controller.
func TestDivergence_adoptionOfAPodThatIsGone(t *testing.T) {
	c := newTrial(size(2, 2), pod("a", corev1.PodRunning, orphaned),
		func(c *trial) { c.fail.Adopt = map[string]error{"a": real.ErrNotFound} })
	them := newRun(c).outcome
	if them.Failed || len(them.Creations) != 2 {
		t.Errorf("the real controller: got %d creations and failed=%v, want 2 and no failure", len(them.Creations), them.Failed)
	}
	first := Must(decide.Job(c.snapshot, caseOf(c).JobfateOptions()...))
	if len(first.Claim) != 1 || len(first.Create) != 1 {
		t.Errorf("jobfate: got %d claims and %d creations, want 1 of each", len(first.Claim), len(first.Create))
	}
	sameOnBothSides(t, c) // jobfate decides again without the pod
}
