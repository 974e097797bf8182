package sync

import (
	"flag"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The package suites compares other releases as well, and then says which. What differs
// there and not in 1.36.3 has these names in docs/compatibility.md.
var release = flag.String("release", "1.36.3", "the release of Kubernetes that is compared")

// releaseExcuses returns the divergences of the release that is compared, beside those
// that it shares with 1.36.3.
func releaseExcuses() []excuse { return excusesOf[*release] }

var excusesOf = map[string][]excuse{"1.34.4": before136, "1.35.4": before136}

var before136 = []excuse{
	{name: "backing-off-active", output: activeWhileBackingOff},
	{name: "suspended-start-time", output: noStartWhileSuspended},
}

// activeWhileBackingOff counts the active pods of a Job that wants more of them and
// waits for a delay. The controller then writes that there are none.
func activeWhileBackingOff(d *dispute) bool {
	o := &d.them.outcome
	if o.Action != "pods_created" || len(o.Creations) > 0 {
		return false
	}
	var active int32
	for _, pod := range d.them.in.Pods {
		if d.ours(pod) && !terminal(pod) && pod.DeletionTimestamp == nil {
			active++
		}
	}
	return d.each(func(st *batchv1.JobStatus) bool {
		changed := st.Active != active
		st.Active = active
		return changed
	})
}

// noStartWhileSuspended takes the start time from a Job that gets suspended.
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

// What differs between releases: what the real controller of each does. jobfate does the
// same as 1.36.3 in all cases. policy-alone has no excuse, for the API server refuses
// such a Job, and no trial has one.
func TestReleases(t *testing.T) {
	older, newer := *release < "1.36", *release >= "1.37"
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp = ptr(at(0)) }
	for _, c := range []struct {
		divergence string
		trial      *trial
		what       func(outcome) int
		differs    bool
		pinned     int // in 1.36.3
		other      int
	}{
		{"backing-off-active", newTrial(size(2, 2), pod("a", corev1.PodRunning), pod("b", corev1.PodFailed, finished(1, 0))),
			func(o outcome) int { return int(o.Statuses[0].Status.Active) }, older, 1, 0},
		{"suspended-start-time", newTrial(onJob(func(j *batchv1.Job) { j.Spec.Suspend = ptr(true) })),
			func(o outcome) int { return starts(o.Statuses[0].Status) }, older, 0, 1},
		{"policy-alone", newTrial(size(1, 1), rule(batchv1.PodFailurePolicyActionIgnore), pod("a", corev1.PodRunning, terminating),
			onJob(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = ptr(batchv1.TerminatingOrFailed) })),
			func(o outcome) int { return len(o.Statuses[0].Status.UncountedTerminatedPods.Failed) }, newer, 0, 1},
	} {
		us, err := decide(c.trial)
		if err != nil {
			t.Fatal(err)
		}
		want := c.pinned
		if c.differs {
			want = c.other
		}
		if got := c.what(newRun(c.trial).outcome); got != want {
			t.Errorf("%s: the real controller of %s: got %d, want %d", c.divergence, *release, got, want)
		}
		if got := c.what(us.out); got != c.pinned {
			t.Errorf("%s: jobfate: got %d, want %d", c.divergence, got, c.pinned)
		}
	}
}

// starts is the number of start times of a status.
func starts(st *batchv1.JobStatus) int {
	if st.StartTime == nil {
		return 0
	}
	return 1
}
