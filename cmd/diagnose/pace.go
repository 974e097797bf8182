package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// How long pods run, and what that means for the Job.

// beganAt returns when the kubelet began with a pod: the time until it had a node does not count.
func beganAt(r *record) time.Time {
	return cmp.Or(r.Pod.Status.StartTime, &r.Pod.CreationTimestamp).Time
}

// took returns how long the pods that succeeded ran, in order.
func (f *facts) took() (all []time.Duration) {
	for _, r := range f.pods {
		if r.Succeeded {
			all = append(all, r.Finish().Sub(beganAt(r)))
		}
	}
	slices.Sort(all)
	return all
}

// oldest returns the active pod that began first; nil if none has begun.
func (f *facts) oldest() (first *record) {
	for _, r := range f.pods {
		if r.Active && r.Pod.Spec.NodeName != "" && (first == nil || beganAt(r).Before(beganAt(first))) {
			first = r
		}
	}
	return first
}

// needs returns how long it takes until this number of pods has succeeded, by the usual time of one; 0 if that is not
// known. once is how many run at once.
func (f *facts) needs(pods int32) (all, usual time.Duration, once int32) {
	took, spec := f.took(), &f.Job.Spec
	if len(took) == 0 || spec.Completions == nil || spec.ActiveDeadlineSeconds == nil || spec.SuccessPolicy != nil {
		return 0, 0, 0
	}
	once = min(max(1, *cmp.Or(spec.Parallelism, new(int32(1)))), max(1, pods))
	usual = took[len(took)/2]
	return usual * time.Duration((pods+once-1)/once), usual, once
}

// pace says how long the pods that succeeded ran, if at that pace the Job needs more time than it has.
func (f *facts) pace() string {
	completions := *cmp.Or(f.Job.Spec.Completions, new(int32))
	needs, usual, once := f.needs(completions)
	if needs == 0 || needs <= time.Duration(*f.Job.Spec.ActiveDeadlineSeconds)*time.Second {
		return ""
	}
	return fmt.Sprintf("those that succeeded ran for about %s, and spec.parallelism is %d: all %d need about %s",
		duration.HumanDuration(usual), once, completions, duration.HumanDuration(needs))
}

// tooLate finds that the Job reaches its deadline before it succeeds, at the pace of the pods that have succeeded.
func tooLate(f *facts) (c found) {
	left := *cmp.Or(f.Job.Spec.Completions, new(int32)) - f.Progress.Succeeded
	needs, usual, _ := f.needs(left)
	first, end := f.oldest(), f.deadline()
	if needs == 0 || first == nil || !end.After(f.Now) {
		return c
	}
	until := latest(beganAt(first).Add(usual), f.Now).Add(needs - usual)
	if !until.After(end) {
		return c
	}
	c = running(f)
	if c.reason.Text != "" {
		c.reason.Text += "; those that succeeded ran for about " + duration.HumanDuration(usual) + ", so that it " +
			"needs until " + f.clock(until) + ", and spec.activeDeadlineSeconds fails the Job at " + f.clock(end)
	}
	return c
}

// again finds that a pod runs after several failed in the same way, or are gone with events, and none succeeded. A pod
// that runs for longer than these may be well.
func again(f *facts) (c found) {
	first, gone := f.oldest(), f.digest.says != "" && f.digest.Given == 0 && f.digest.Gone > 1
	if first != nil && gone && f.Progress.Succeeded == 0 {
		return running(f)
	}
	if len(f.digest.Groups) == 0 || first == nil {
		return c
	}
	g, longest := &f.digest.Groups[0], time.Duration(0)
	for _, r := range g.records {
		longest = max(longest, r.Finish().Sub(beganAt(r)))
	}
	is := f.faultOf(g.example)
	least := either(f.ownLimit(g.example) || is.evicted && !innocent(is.Fault), 1, fewest)
	if len(g.Pods) < least || f.Progress.Succeeded > 0 || f.past(beganAt(first), longest+longPatience) ||
		g.Match.Action == batchv1.PodFailurePolicyActionIgnore {
		return c
	}
	return running(f)
}

// ownLimit reports whether a pod failed because it used more than a limit of its own.
func (f *facts) ownLimit(r *record) bool {
	is := f.faultOf(r)
	return is.evicted && mentions(is.Fault, ownStorage...) ||
		outOfMemory(is.End) && f.systemOOM(r, is.End) == nil && f.memoryLimit(r.Pod, is.Container) != noLimit
}

// straggles finds that one pod of a Job runs for much longer than those that have succeeded did.
func straggles(f *facts) (c found) {
	slow, took := f.oldest(), slices.Max(append(f.took(), 0))
	if slow == nil || took == 0 || !f.past(beganAt(slow), max(time.Hour, 3*took)) {
		return c
	}
	c = running(f)
	if c.reason.Text != "" {
		c.reason.Text += fmt.Sprintf("; %s has run %s, and those that succeeded ran for at most %s", f.named(slow),
			f.lasting(beganAt(slow)), duration.HumanDuration(took))
		c.pod, c.pods, c.node = slow.Pod.Name, []string{slow.Pod.Name}, slow.Pod.Spec.NodeName
		e := cmp.Or(lastEvent(f.about("Node", "", c.node), func(e *corev1.Event) bool {
			return isWarning(e) && e.Reason != "InvalidDiskCapacity" && timeOf(e).After(beganAt(slow)) // of each start
		}), &corev1.Event{})
		c.reason.Text = joined("; its node "+c.node+": ", c.reason.Text, joined(": ", e.Reason, oneLine(e.Message)))
	}
	return c
}
