package sync

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
)

// The package suites also compares other releases. docs/compatibility.md lists the divergences of those before
// 1.36, under the names below.

// activeWhileBackingOff sets the number of active pods of a Job that waits for a delay before it
// creates more. The controller writes 0.
func activeWhileBackingOff(d *dispute) bool {
	o := &d.them.outcome
	if o.Action != "pods_created" || len(o.Creations) > 0 {
		return false
	}
	var n int32
	for _, pod := range d.them.in.Pods {
		if d.ours(pod) && active(pod) {
			n++
		}
	}
	return d.each(func(st *batchv1.JobStatus) bool {
		changed := st.Active != n
		st.Active = n
		return changed
	})
}

// noStartWhileSuspended removes the start time of a Job that is suspended.
func noStartWhileSuspended(d *dispute) bool {
	was := condition(d.stored, batchv1.JobSuspended)
	return d.each(func(st *batchv1.JobStatus) bool {
		now := condition(st, batchv1.JobSuspended)
		if st.StartTime == nil || now == nil || now.Status != corev1.ConditionTrue ||
			was != nil && was.Status == now.Status && was.Reason == now.Reason && was.Message == now.Message {
			return false
		}
		st.StartTime = nil
		return true
	})
}

// The differences between releases: each real controller, and jobfate, which does the same as 1.36.
// policy-alone has no excuse, because the API server rejects such a Job, so no trial has one.
func TestReleases(t *testing.T) {
	older, newer := kubernetes.Minor() < 36, kubernetes.Minor() >= 37
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp = new(at(0)) }
	for _, c := range []struct {
		divergence string
		trial      *trial
		what       func(outcome) any
		differs    bool
		want       any // of jobfate and 1.36
		other      any
	}{
		{"backing-off-active", newTrial(size(2, 2), pod("a", corev1.PodRunning), pod("b", corev1.PodFailed, finished(1, 0))),
			func(o outcome) any { return int(o.Statuses[0].Status.Active) }, older, 1, 0},
		{"suspended-start-time", newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = new(true) })),
			func(o outcome) any { return o.Statuses[0].Status.StartTime != nil }, older, false, true},
		{"policy-alone", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionIgnore), pod("a", corev1.PodRunning, terminating),
			onJob(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = new(batchv1.TerminatingOrFailed) })),
			func(o outcome) any { return len(o.Statuses[0].Status.UncountedTerminatedPods.Failed) }, newer, 0, 1},
	} {
		want := c.want
		if c.differs {
			want = c.other
		}
		Same(t, c.divergence+": the real controller of "+kubernetes.Version(), c.what(newRun(c.trial).outcome), want)
		Same(t, c.divergence+": jobfate", c.what(mustDecide(t, c.trial).out), c.want)
	}
}
