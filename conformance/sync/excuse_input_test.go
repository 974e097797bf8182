package sync

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
)

// canonicalIndexes writes the interval lists of the status the way that the
// controller writes them.
func canonicalIndexes(d *dispute) bool {
	job := d.them.in.Job
	if !indexed(job) {
		return false
	}
	changed := repair(&job.Status.CompletedIndexes, *job.Spec.Completions)
	if d.perIndex() && job.Status.FailedIndexes != nil {
		text := *job.Status.FailedIndexes
		changed = repair(&text, *job.Spec.Completions) || changed
		job.Status.FailedIndexes = &text
	}
	return changed
}

func repair(text *string, completions int32) bool {
	if _, err := indexset.Parse(*text); err == nil {
		return false
	}
	set, _ := indexset.ParseDamaged(*text, completions)
	*text = set.String()
	return true
}

// uncountedLists takes from the lists what stands in them twice, or is empty.
func uncountedLists(d *dispute) bool {
	u := d.them.in.Job.Status.UncountedTerminatedPods
	if u == nil {
		return false
	}
	seen := map[types.UID]bool{"": true}
	again := func(uid types.UID) bool {
		twice := seen[uid]
		seen[uid] = true
		return twice
	}
	before := len(u.Failed) + len(u.Succeeded)
	u.Failed = slices.DeleteFunc(u.Failed, again)
	u.Succeeded = slices.DeleteFunc(u.Succeeded, again)
	return len(u.Failed)+len(u.Succeeded) != before
}

// firstClassification gives the pods in the lists the phase of their list.
func firstClassification(d *dispute) (changed bool) {
	job := d.them.in.Job
	u := job.Status.UncountedTerminatedPods
	if u == nil {
		return false
	}
	for i, pod := range d.them.in.Pods {
		if !d.finalized(pod) || !terminal(pod) {
			continue
		}
		phase := pod.Status.Phase
		if slices.Contains(u.Failed, pod.UID) {
			phase = corev1.PodFailed
		} else if slices.Contains(u.Succeeded, pod.UID) {
			phase = corev1.PodSucceeded
		}
		if phase != pod.Status.Phase {
			changed = true
			d.replacePod(i, func(p *corev1.Pod) { p.Status.Phase = phase })
		}
	}
	return changed
}

// withoutOverlap takes completed indexes out of failedIndexes.
func withoutOverlap(d *dispute) bool {
	job := d.them.in.Job
	if !d.perIndex() || job.Status.FailedIndexes == nil {
		return false
	}
	completed := parseIndexes(job, job.Status.CompletedIndexes)
	for _, pod := range d.them.in.Pods {
		if d.finalized(pod) && valid(job, pod) && pod.Status.Phase == corev1.PodSucceeded {
			completed = completed.Union(indexset.Of(builtin.IndexOf(pod)))
		}
	}
	failed := parseIndexes(job, *job.Status.FailedIndexes)
	if failed.IntersectionLen(completed) == 0 {
		return false
	}
	text := failed.Difference(completed).String()
	job.Status.FailedIndexes = &text
	return true
}

func parseIndexes(job *batchv1.Job, text string) indexset.Set {
	set, _ := indexset.ParseDamaged(text, *job.Spec.Completions)
	return set
}

// shift is by how much withinRange lowers failure counts that are so large that
// the next ones would not fit into an int32.
const shift = math.MaxInt32 - 1<<29

// longest is the longest deadline, in seconds, that can be calculated with, and
// slack what is taken off, because a start in the future adds to it.
const (
	longest = math.MaxInt64 / 1_000_000_000
	slack   = 3600
)

// baseWithinCap lowers the first delay to the longest.
func baseWithinCap(d *dispute) bool {
	if d.base() <= d.delay() {
		return false
	}
	d.them.in.Limits.Base = d.delay()
	return true
}

// orphansWithoutReference takes the reference to the Job from pods that it does not
// control.
func orphansWithoutReference(d *dispute) (changed bool) {
	for i, pod := range d.them.in.Pods {
		toJob := func(r metav1.OwnerReference) bool { return r.UID == d.snapshot.Job.UID }
		if builtin.HasFinalizer(pod) || metav1.GetControllerOfNoCopy(pod) != nil || !slices.ContainsFunc(pod.OwnerReferences, toJob) {
			continue
		}
		d.replacePod(i, func(p *corev1.Pod) { p.OwnerReferences = slices.DeleteFunc(p.OwnerReferences, toJob) })
		changed = true
	}
	return changed
}

// withinRange lowers the numbers with which the controller would calculate
// beyond their range. What they decide stays the same: they are above any limit.
func withinRange(d *dispute) (changed bool) {
	if s := d.them.in.Job.Spec.ActiveDeadlineSeconds; s != nil && *s > longest-slack {
		d.them.in.Job.Spec.ActiveDeadlineSeconds = ptr(min(*s, longest) - slack)
		changed = true
	}
	for i, pod := range d.them.in.Pods {
		for _, key := range countKeys {
			if n, err := strconv.Atoi(pod.Annotations[key]); err == nil && n <= math.MaxInt32 && n > 1<<30 {
				d.replacePod(i, func(p *corev1.Pod) { p.Annotations[key] = strconv.Itoa(n - shift) })
				pod, changed = d.them.in.Pods[i], true
			}
		}
	}
	return changed
}

var countKeys = []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation}

// onlyListed lets the controller handle all pods, although its lists are full,
// and keeps it from finishing with those that are not in them: their finalizer
// cannot be removed. withoutUnlisted then takes them out of the lists again.
func onlyListed(d *dispute) bool {
	u := d.them.in.Job.Status.UncountedTerminatedPods
	if u == nil {
		return false
	}
	listed := 0
	for _, pod := range d.them.in.Pods {
		if d.tracked(pod) && (slices.Contains(u.Failed, pod.UID) || slices.Contains(u.Succeeded, pod.UID)) {
			listed++
		}
	}
	if listed < d.uncountedCap() {
		return false
	}
	strip := map[string]error{}
	for _, pod := range d.them.in.Pods {
		if d.tracked(pod) && !slices.Contains(u.Failed, pod.UID) && !slices.Contains(u.Succeeded, pod.UID) {
			strip[pod.Name] = real.ErrInternal
			d.hidden[pod.Name] = true
			continue
		}
		if err := d.fail.Strip[pod.Name]; err != nil {
			strip[pod.Name] = err
		}
	}
	d.them.in.Fail.Strip = strip
	d.them.in.Limits.MaxUncounted = math.MaxInt32
	return true
}

// keepVerdict keeps the pods that carry a FailJob verdict while the controller
// does not store it: those that a list holds stay there, because their finalizer
// cannot be removed, and the others are no longer offered.
func keepVerdict(d *dispute) bool {
	if d.them.in.Job.DeletionTimestamp != nil || isDecided(d.stored) {
		return false
	}
	now := run{in: d.them.in}
	now.sync()
	for _, c := range now.outcome.Statuses {
		if isDecided(c.Status) {
			return false
		}
	}
	strip := maps.Clone(d.them.in.Fail.Strip)
	for _, pod := range d.them.in.Pods {
		if !d.tracked(pod) || !d.failed(pod) || d.action(pod) != batchv1.PodFailurePolicyActionFailJob {
			continue
		}
		d.kept = append(d.kept, pod.UID)
		if u := d.them.in.Job.Status.UncountedTerminatedPods; u != nil && slices.Contains(u.Failed, pod.UID) {
			if strip == nil {
				strip = map[string]error{}
			}
			strip[pod.Name] = real.ErrInternal
			continue
		}
		d.them.in.Memory.Stripped = append(slices.Clone(d.them.in.Memory.Stripped), pod.UID)
	}
	d.them.in.Fail.Strip = strip
	return len(d.kept) > 0
}

func isDecided(st *batchv1.JobStatus) bool {
	return ended(st) || isTrue(st, batchv1.JobFailureTarget) || isTrue(st, batchv1.JobSuccessCriteriaMet)
}

// noneFailedLater takes care that the controller takes the failed pod of an index
// with the most failures, or the one of these that failed last, for the
// predecessor: no other has failed later. Nothing else that is compared depends on
// when those failed.
func noneFailedLater(d *dispute) (changed bool) {
	if !d.perIndex() || d.ends() || d.them.in.Job.DeletionTimestamp != nil {
		return false // nothing is replaced
	}
	settled := d.settled()
	candidate := func(p *corev1.Pod) bool {
		return d.tracked(p) && valid(d.them.in.Job, p) && d.failed(p) && !settled.Contains(builtin.IndexOf(p))
	}
	compare := func(a, b *corev1.Pod) int {
		return cmp.Or(builtin.CountsOf(a.Annotations).Compare(builtin.CountsOf(b.Annotations)), real.FinishedTime(a).Compare(real.FinishedTime(b)))
	}
	best := map[int32]*corev1.Pod{}
	for _, p := range d.them.in.Pods {
		if b := best[builtin.IndexOf(p)]; candidate(p) && (b == nil || compare(p, b) >= 0) {
			best[builtin.IndexOf(p)] = p
		}
	}
	for i, p := range d.them.in.Pods {
		if !candidate(p) {
			continue
		}
		last := real.FinishedTime(best[builtin.IndexOf(p)])
		if real.FinishedTime(p).After(last) {
			d.replacePod(i, func(p *corev1.Pod) { finishAt(p, last) })
			changed = true
		}
	}
	return changed
}

// finishAt changes each time that may be taken for the one at which a pod has
// ended.
func finishAt(p *corev1.Pod, t time.Time) {
	p.CreationTimestamp.Time = t
	if p.DeletionTimestamp != nil {
		grace := time.Duration(0)
		if s := p.DeletionGracePeriodSeconds; s != nil {
			grace = time.Duration(*s) * time.Second
		}
		p.DeletionTimestamp.Time = t.Add(grace)
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			c.LastTransitionTime.Time = t
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range statuses {
			if ended := statuses[i].State.Terminated; ended != nil && !ended.FinishedAt.IsZero() {
				ended.FinishedAt.Time = t
			}
		}
	}
}

// status is the one that jobfate leaves before finalizers go.
func (d *dispute) status() *batchv1.JobStatus {
	if st := d.us.decision.Status; st != nil {
		return st
	}
	return d.stored
}

// ends reports whether the Job ends with this sync, so that nothing is replaced:
// no pod is left that should be gone, and every write is observed.
func (d *dispute) ends() bool {
	interim := isTrue(d.status(), batchv1.JobSuccessCriteriaMet) || isTrue(d.status(), batchv1.JobFailureTarget)
	return interim && d.them.in.Creations+d.them.in.Deletions == 0 && !slices.ContainsFunc(d.us.out.Deletions, call.failed)
}

// settled are the indexes that get no new pod: they are completed, or have
// failed, or have an active pod.
func (d *dispute) settled() indexset.Set {
	job := d.them.in.Job
	set := parseIndexes(job, d.status().CompletedIndexes)
	if failed := d.status().FailedIndexes; failed != nil {
		set = set.Union(parseIndexes(job, *failed))
	}
	for _, p := range d.them.in.Pods {
		if d.ours(p) && !terminal(p) && p.DeletionTimestamp == nil {
			if index := builtin.IndexOf(p); index >= 0 {
				set = set.Union(indexset.Of(index))
			}
		}
	}
	return set
}

// phantom is the pod that seeInFlight adds.
const phantom = "phantom"

// seeInFlight lets the controller see a pod that is in flight: an active one,
// that is not counted.
func seeInFlight(d *dispute) bool {
	in := &d.them.in
	if in.Creations+in.Deletions == 0 || isTrue(d.stored, batchv1.JobSuccessCriteriaMet) || !d.endsByCompletions() {
		return false
	}
	in.Pods = append(in.Pods, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Job.Namespace, Name: phantom, UID: phantom, Labels: in.Job.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(in.Job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	})
	return true
}

// endsByCompletions reports whether the controller ends the Job, with what it is
// given so far, because it has all its completions.
func (d *dispute) endsByCompletions() bool {
	d.them.sync()
	return slices.ContainsFunc(d.them.outcome.Statuses, func(c call) bool {
		return slices.ContainsFunc(c.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobSuccessCriteriaMet && c.Status == corev1.ConditionTrue && c.Reason == batchv1.JobReasonCompletionsReached
		})
	})
}

// writeAlways makes the controller write the status, whatever it says: it looks
// different from the one that is stored.
func writeAlways(d *dispute) bool {
	d.them.in.Job.Status.Active += 1_000_000
	return true
}
