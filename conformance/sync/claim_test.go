package sync

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/internal/decidetest"
)

// The divergence failed-claim: how it is excused and pinned.

// actionWithoutFault takes the action of the sync in which no claim fails.
func actionWithoutFault(d *dispute) bool {
	if !d.them.claimFailed() || d.planned == "" || d.planned == d.them.outcome.Action {
		return false
	}
	d.them.outcome.Action = d.planned
	return true
}

// plannedAction is the action of the trial in which no claim fails, if both sides
// agree there; empty if they do not.
func (d *dispute) plannedAction() string {
	plain := *d.trial
	plain.fail.Get, plain.fail.Adopt, plain.fail.Release = nil, nil, nil
	us, err := decide(&plain)
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

// claimFailed reports whether the controller could not adopt or release a pod. The
// sync ends there.
func (r *run) claimFailed() bool {
	return slices.ContainsFunc(r.outcome.Claims, call.failed) ||
		r.in.Fail.Get != nil && slices.ContainsFunc(r.in.Pods, func(p *corev1.Pod) bool { return adoptable(r.in.Job, p) })
}

// An adoption that finds its pod gone: the real controller goes on without the pod
// in the same sync. The first decision of jobfate counts on the adoption, and a
// second one without the pod does what the real controller does.
func TestDivergence_adoptionOfAPodThatIsGone(t *testing.T) {
	c := newTrial(size(2, 2), pod("a", corev1.PodRunning, orphaned),
		func(c *trial) { c.fail.Adopt = map[string]error{"a": real.ErrNotFound} })
	them := newRun(c).outcome
	if them.Failed || len(them.Creations) != 2 {
		t.Errorf("the real controller: got %d creations and failed=%v, want 2 and no failure", len(them.Creations), them.Failed)
	}
	first, err := decidetest.Decide(c.snapshot, c.options()...)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Claim) != 1 || len(first.Create) != 1 {
		t.Errorf("jobfate: got %d claims and %d creations, want 1 of each", len(first.Claim), len(first.Create))
	}
	us, err := decide(c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(them, us.out); diff != "" {
		t.Errorf("decided again without the pod (-real +jobfate):\n%s", diff)
	}
}
