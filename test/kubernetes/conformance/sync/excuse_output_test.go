package sync

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
	"github.com/jobfate/jobfate/test/vectors"
)

// withoutTwins gives the writes and events of each twin to its pod.
func withoutTwins(d *dispute) (changed bool) {
	o := &d.them.outcome
	replace := func(text *string) {
		changed = changed || strings.Contains(*text, twin)
		*text = strings.ReplaceAll(*text, twin, "")
	}
	for i := range o.Deletions {
		replace(&o.Deletions[i].Pod)
		replace(&o.Deletions[i].Patch)
	}
	for i := range o.PodEvents {
		replace(&o.PodEvents[i].Message)
	}
	o.finish()
	return changed
}

// spareAsFailIndex counts the pods that match a FailIndex rule which spareCompleted has changed.
func spareAsFailIndex(d *dispute) (changed bool) {
	for _, c := range d.them.outcome.Strips {
		pod := d.pod(c.Pod)
		if d.failIndex[c.Pod] && d.handled(pod) != "" && !slices.Contains(d.stored.UncountedTerminatedPods.Failed, pod.UID) {
			d.addHandled(batchv1.PodFailurePolicyActionCount, -1)
			d.addHandled(batchv1.PodFailurePolicyActionFailIndex, +1)
			changed = true
		}
	}
	return changed
}

// handled returns the action of the rule that a pod matches when its finalizer is removed. It is empty if there is none.
func (d *dispute) handled(pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	failing := d.ends() && isTrue(d.status(), batchv1.JobFailureTarget)
	if pod.Status.Phase == corev1.PodSucceeded || !valid(d.them.in.Job, pod) || !d.failed(pod) && !failing {
		return ""
	}
	return d.action(pod)
}

// addHandled adds to the number of pods that matched a rule with an action.
func (d *dispute) addHandled(action batchv1.PodFailurePolicyAction, n float64) {
	name := fmt.Sprintf("pod_failures_handled_by_failure_policy_total{action=%q}", action)
	d.setMetric(name, d.them.outcome.Metrics[name]+n)
}

// action returns the action of the rule that the pod matches. It is empty if no rule matches.
func (d *dispute) action(pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	policy := d.them.in.Job.Spec.PodFailurePolicy
	if policy == nil {
		return ""
	}
	if d.failIndex[pod.Name] {
		return batchv1.PodFailurePolicyActionFailIndex
	}
	if d.noPerIndex {
		policy = policy.DeepCopy()
		policy.Rules = slices.DeleteFunc(policy.Rules, func(r batchv1.PodFailurePolicyRule) bool {
			return r.Action == batchv1.PodFailurePolicyActionFailIndex
		})
	}
	return real.MatchFailurePolicy(policy, pod).Action
}

// withoutKept removes the failed writes to the pods that keepVerdict kept in the lists.
func withoutKept(d *dispute) bool {
	if len(d.kept) == 0 {
		return false
	}
	d.dropStrips(func(c call) bool { return slices.Contains(d.kept, d.pod(c.Pod).UID) })
	return true
}

// dropStrips drops removals of finalizers that an excuse has made fail.
func (d *dispute) dropStrips(drop func(call) bool) {
	o := &d.them.outcome
	n := len(o.Strips)
	if o.Strips = slices.DeleteFunc(o.Strips, drop); len(o.Strips) == 0 {
		o.Strips = nil
	}
	d.unlisted = d.unlisted || len(o.Strips) != n
	o.Failed = slices.ContainsFunc(slices.Concat(o.Deletions, o.Creations, o.Strips, o.Statuses), call.failed)
}

// setMetric sets a counter. A counter that has not changed is absent.
func (d *dispute) setMetric(name string, n float64) {
	d.them.outcome.Metrics[name] = n
	if n == 0 {
		delete(d.them.outcome.Metrics, name)
	}
}

// unchangedRecord restores the backoff record of a Job with a backoff limit per index.
func unchangedRecord(d *dispute) bool {
	was := record(d.snapshot.Backoff.Failures, &d.snapshot.Backoff.LastFailure)
	if !d.perIndex() || same(d.them.outcome.Backoff, was) {
		return false
	}
	d.them.outcome.Backoff = was
	return true
}

// untilDeadline restores the time until the deadline that withinRange has lowered.
func untilDeadline(d *dispute) bool {
	o := &d.them.outcome
	if o.Requeue <= (longest-2*slack)*time.Second {
		return false
	}
	if o.Requeue += slack * time.Second; o.Requeue < 0 {
		o.Requeue = math.MaxInt64
	}
	return true
}

// outOfRange restores the failure counts of new pods that withinRange has lowered.
func outOfRange(d *dispute) (changed bool) {
	for i := range d.them.outcome.Creations {
		c := &d.them.outcome.Creations[i]
		for _, key := range countKeys {
			if n, err := strconv.Atoi(c.Object.Annotations[key]); err == nil && n > 1<<28 {
				c.Object = c.Object.DeepCopy()
				c.Object.Annotations[key] = strconv.Itoa(min(n+shift, math.MaxInt32))
				changed = true
			}
		}
	}
	return changed
}

// withoutUnlisted removes the pods that onlyListed added.
func withoutUnlisted(d *dispute) bool {
	if len(d.hidden) == 0 || d.them.claimFailed() {
		return false
	}
	d.dropStrips(func(c call) bool {
		if d.hidden[c.Pod] {
			if action := d.handled(d.pod(c.Pod)); action != "" {
				d.addHandled(action, -1)
			}
		}
		return d.hidden[c.Pod]
	})
	var uids []types.UID
	for name := range d.hidden {
		uids = append(uids, d.pod(name).UID)
	}
	unlisted := func(uid types.UID) bool { return slices.Contains(uids, uid) }
	changed := d.each(func(st *batchv1.JobStatus) bool {
		u := st.UncountedTerminatedPods
		n := len(u.Failed) + len(u.Succeeded)
		u.Failed = slices.DeleteFunc(u.Failed, unlisted)
		u.Succeeded = slices.DeleteFunc(u.Succeeded, unlisted)
		changed := len(u.Failed)+len(u.Succeeded) != n
		*st = *vectors.Normal(st)
		return changed
	})
	return changed || d.unlisted
}

// unseeInFlight subtracts the phantom from the number of active or terminating pods.
func unseeInFlight(d *dispute) bool {
	pod := d.pod(phantom)
	if pod == nil {
		return false
	}
	return d.each(func(st *batchv1.JobStatus) bool {
		switch {
		case active(pod):
			st.Active--
		case st.Terminating != nil: // nil without its feature gate
			st.Terminating = new(*st.Terminating - 1)
		}
		return active(pod) || st.Terminating != nil
	})
}

func withUnobserved(d *dispute) bool {
	return d.each(func(st *batchv1.JobStatus) bool { return d.count(st, 1) })
}

// readyAfterFailure counts a ready pod whose deletion failed as ready.
func readyAfterFailure(d *dispute) bool {
	return d.addReady(+1, func(c call) bool { return c.Kind == real.Delete && c.failed() })
}

// notReadyWhenGone does not count a pod as ready that was gone when its finalizer should be removed.
func notReadyWhenGone(d *dispute) bool {
	return d.addReady(-1, func(c call) bool { return c.Kind == real.StripToDelete && c.gone() })
}

// addReady adds to the number of ready pods for each ready pod with such a call.
func (d *dispute) addReady(n int32, such func(call) bool) bool {
	var wrong int32
	for _, c := range d.them.outcome.Deletions {
		if such(c) && podutil.IsPodReady(d.pod(c.Pod)) {
			wrong += n
		}
	}
	return wrong != 0 && d.each(func(st *batchv1.JobStatus) bool {
		*st.Ready += wrong
		return true
	})
}

// succeededFromIndexes sets the number of succeeded pods to the number of completed indexes.
func succeededFromIndexes(d *dispute) bool {
	u := d.stored.UncountedTerminatedPods
	if !indexed(d.them.in.Job) || len(u.Succeeded) == 0 {
		return false
	}
	// No index completes twice.
	d.dropEvents("TooManySucceededPods")
	return d.each(func(st *batchv1.JobStatus) bool {
		n := int32(parseIndexes(d.them.in.Job, st.CompletedIndexes).Len())
		changed := n != st.Succeeded
		st.Succeeded = n
		return changed
	})
}

// keepSucceeded keeps the number of succeeded pods if the API server does not accept a lower one.
func keepSucceeded(d *dispute) bool {
	spec := &d.them.in.Job.Spec
	if !indexed(d.them.in.Job) || *spec.Completions == *spec.Parallelism {
		return false
	}
	return d.each(func(st *batchv1.JobStatus) bool {
		falls := st.Succeeded < d.stored.Succeeded
		st.Succeeded = max(st.Succeeded, d.stored.Succeeded)
		return falls
	})
}

// keepStartTime keeps the start time if the Job was not suspended before.
func keepStartTime(d *dispute) bool {
	old := condition(d.stored, batchv1.JobSuspended)
	if old == nil || isTrue(d.stored, batchv1.JobSuspended) || *d.them.in.Job.Spec.Suspend {
		return false
	}
	start := d.stored.StartTime
	if start == nil {
		start = new(metav1.NewTime(d.snapshot.Now))
	}
	return d.each(func(st *batchv1.JobStatus) bool {
		now := condition(st, batchv1.JobSuspended)
		if now.Reason == old.Reason && now.Message == old.Message && now.Status == old.Status {
			return false
		}
		changed := !st.StartTime.Equal(start)
		st.StartTime = start
		return changed
	})
}

func ended(st *batchv1.JobStatus) bool {
	return isTrue(st, batchv1.JobComplete) || isTrue(st, batchv1.JobFailed)
}

// startAtEnd sets the start time of a Job that ends without one.
func startAtEnd(d *dispute) bool {
	return d.each(func(st *batchv1.JobStatus) bool {
		if !ended(st) || st.StartTime != nil {
			return false
		}
		st.StartTime = new(metav1.NewTime(d.snapshot.Now))
		return true
	})
}

// completeAfterStart raises a completion time that is before the start time.
func completeAfterStart(d *dispute) bool {
	return d.each(func(st *batchv1.JobStatus) bool {
		if st.CompletionTime == nil || !st.CompletionTime.Before(st.StartTime) {
			return false
		}
		st.CompletionTime = st.StartTime
		return true
	})
}

// leastDelay sets a timer that the controller sets one sync later: after it has created pods, when
// all remaining indexes are backing off.
func leastDelay(d *dispute) bool {
	o := &d.them.outcome
	if !d.perIndex() || len(o.Creations) == 0 {
		return false
	}
	next := run{in: d.them.in}
	next.in.Fail.Create = nil
	next.sync()
	left := d.changesCap() - len(next.outcome.Creations)
	if left == 0 {
		return false
	}
	next.in.Limits.MaxCreateDelete = left
	next.in.Pods = slices.Clone(next.in.Pods)
	for _, c := range next.outcome.Creations {
		pod := c.Object.DeepCopy()
		pod.Name, pod.UID = c.Pod, types.UID(c.Pod)
		next.in.Pods = append(next.in.Pods, pod)
	}
	slices.SortStableFunc(next.in.Pods, func(a, b *corev1.Pod) int {
		return cmp.Compare(builtin.IndexOf(a), builtin.IndexOf(b))
	})
	next.sync()
	wait := next.outcome.Requeue
	if wait == 0 || o.Requeue != 0 && o.Requeue <= wait {
		return false
	}
	o.Requeue = wait
	return true
}

// untilRefused ends the creations with the batch that a terminating namespace refuses. It counts the refused
// pods of that batch as failed creations, and none as active. The reason that the metric names is the one that
// the real controller names if the creations fail in another way.
func untilRefused(d *dispute) bool {
	o := &d.them.outcome
	refused := slices.IndexFunc(o.Creations, func(c call) bool { return c.Err == real.ErrNamespaceTerminating.Error() })
	if refused < 0 {
		return false
	}
	end := 1
	for end <= refused {
		end = 2*end + 1 // batches of 1, 2, 4, …
	}
	d.each(func(st *batchv1.JobStatus) bool { st.Active -= int32(len(o.Creations) - refused); return true })
	o.Creations = o.Creations[:min(end, len(o.Creations))]
	if d.firstStatusFailed() {
		return true // see earlyMetric
	}
	otherwise := run{in: d.them.in}
	otherwise.in.Fail.Create = map[int]error{refused: real.ErrInternal}
	otherwise.sync()
	for name := range otherwise.outcome.Metrics {
		if strings.HasPrefix(name, "job_pods_creation_total") && strings.Contains(name, `status="failed"`) {
			d.setMetric(name, float64(len(o.Creations)-refused))
		}
	}
	return true
}

// earlyMetric counts no creation if the status was not stored.
func earlyMetric(d *dispute) (changed bool) {
	if !d.firstStatusFailed() {
		return false
	}
	var created float64
	for _, c := range d.them.outcome.Creations {
		if c.Err == "" {
			created++
		}
	}
	return d.eachCreationMetric(func(name string, n float64) {
		if strings.HasSuffix(name, `,status="succeeded"}`) {
			d.setMetric(name, n-created)
		} else {
			d.setMetric(name, 0)
		}
	})
}

// creationMetric counts a failed creation only as failed.
func creationMetric(d *dispute) (changed bool) {
	d.eachCreationMetric(func(name string, n float64) {
		if reason, failed := strings.CutSuffix(name, `,status="failed"}`); failed {
			created := reason + `,status="succeeded"}`
			d.setMetric(created, d.them.outcome.Metrics[created]-n)
			changed = true
		}
	})
	return changed
}

// eachCreationMetric calls f for each counter of creations, and reports whether there is one.
func (d *dispute) eachCreationMetric(f func(name string, n float64)) (found bool) {
	for name, n := range maps.Clone(d.them.outcome.Metrics) {
		if strings.HasPrefix(name, "job_pods_creation_total") {
			f(name, n)
			found = true
		}
	}
	return found
}

// firstStatusFailed reports whether the first status write failed, so that no finalizer was removed.
func (d *dispute) firstStatusFailed() bool {
	o := &d.them.outcome
	return len(o.Statuses) == 1 && o.Statuses[0].Err != "" && len(o.Strips) == 0
}

// settleMetric adds the counted pods to the metric although the finalizers of others could not be
// removed.
func settleMetric(d *dispute) (changed bool) {
	o := &d.them.outcome
	if !slices.ContainsFunc(o.Strips, call.failed) && !d.unlisted || o.StoredFirst >= len(o.Statuses) || o.Statuses[o.StoredFirst].Err != "" {
		return false
	}
	before, after := d.stored, o.Statuses[o.StoredFirst].Status
	if o.StoredFirst > 0 {
		before = o.Statuses[0].Status
	}
	mode := batchv1.NonIndexedCompletion
	results := map[string]int32{"failed": after.Failed - before.Failed}
	if indexed(d.them.in.Job) {
		mode = batchv1.IndexedCompletion
	} else {
		results["succeeded"] = after.Succeeded - before.Succeeded
	}
	for result, n := range results {
		name := fmt.Sprintf("job_pods_finished_total{completion_mode=%q,result=%q}", mode, result)
		d.setMetric(name, o.Metrics[name]+float64(n))
		changed = changed || n != 0
	}
	return changed
}

// earlyEvents removes the events about a suspension that was not stored.
func earlyEvents(d *dispute) bool {
	if !d.firstStatusFailed() {
		return false
	}
	return d.dropEvents("Suspended", "Resumed")
}

// dropEvents removes the events with some reasons.
func (d *dispute) dropEvents(reasons ...string) bool {
	o := &d.them.outcome
	left := slices.DeleteFunc(slices.Clone(o.Events), func(e real.Event) bool { return slices.Contains(reasons, e.Reason) })
	dropped := len(left) != len(o.Events)
	if o.Events = left; len(left) == 0 {
		o.Events = nil
	}
	return dropped
}

// requeueUntilObserved sets a timer while the end of the Job is not observed. Orphans wait until then.
func requeueUntilObserved(d *dispute) bool {
	o := &d.them.outcome
	if !d.them.in.Finished || isFinished(d.them.in.Job) {
		return false
	}
	o.Requeue, o.Finished, o.Freed = cmp.Or(d.limits.BatchPeriod, time.Second), false, nil
	return true
}

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
