package sync

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// requeueForRest sets the timer for the work that the caps leave for the next sync.
func requeueForRest(d *dispute) bool {
	o, soon := &d.them.outcome, cmp.Or(d.limits.BatchPeriod, time.Second)
	if o.Requeue != 0 && o.Requeue <= soon || !d.leavesWork() {
		return false
	}
	o.Requeue = soon
	return true
}

// leavesWork reports whether a sync without caps does more. It ignores whether the status write and
// the removals of finalizers succeed.
func (d *dispute) leavesWork() bool {
	capped := run{in: d.them.in}
	capped.in.Limits = d.limits
	capped.in.Fail.Strip, capped.in.Fail.Status = nil, nil
	capped.sync()
	if capped.claimFailed() {
		return false
	}
	whole := run{in: capped.in}
	whole.in.Limits.MaxUncounted, whole.in.Limits.MaxCreateDelete = math.MaxInt32, math.MaxInt32
	whole.sync()
	refused := func(c call) bool { return c.Err != "" && !c.gone() } // what is left waits for the retry
	switch o := capped.outcome; {
	case len(whole.outcome.Deletions) > len(o.Deletions) && !slices.ContainsFunc(o.Deletions, refused):
		return true
	case len(o.Creations) > 0 && !slices.ContainsFunc(o.Creations, refused) && d.missing(whole.in) > d.changesCap():
		return true
	}
	kept := func(c call) bool { return slices.Contains(d.kept, d.pod(c.Pod).UID) }
	done := func(c call) bool {
		return slices.ContainsFunc(capped.outcome.Strips, func(o call) bool { return o.Pod == c.Pod })
	}
	if d.them.in.Limits.MaxUncounted == math.MaxInt32 { // set by onlyListed, because the lists are full
		return slices.ContainsFunc(whole.outcome.Strips, func(c call) bool { return d.hidden[c.Pod] && !kept(c) })
	}
	return whole.outcome.Finished && !capped.outcome.Finished ||
		slices.ContainsFunc(whole.outcome.Strips, func(c call) bool { return !done(c) && !kept(c) })
}

// missing returns the number of pods that the controller would create without delays.
func (d *dispute) missing(in real.Input) int {
	in.Limits.Base, in.Limits.Cap, in.Fail.Create = 1, 1, nil
	in.Pods = slices.Clone(in.Pods)
	for i, pod := range in.Pods {
		if d.failed(pod) {
			in.Pods[i] = pod.DeepCopy()
			finishAt(in.Pods[i], in.Now.Add(-time.Hour))
		}
	}
	r := run{in: in}
	r.sync()
	return len(r.outcome.Creations)
}
