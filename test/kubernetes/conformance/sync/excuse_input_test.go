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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// canonicalIndexes replaces the lists of indexes in the status with their canonical form.
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

// uncountedLists removes duplicates and empty UIDs from the lists.
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

// twin ends the name and the UID of a pod that twinOf makes.
const twin = "-twin"

// firstClassification sets the phase of each pod in a list to the phase of the list. A pod in the list of succeeded
// pods that has not ended, and that the controller counts as failed too, gets a twin, which is not counted, in its state.
func firstClassification(d *dispute) (changed bool) {
	u := d.them.in.Job.Status.UncountedTerminatedPods
	if u == nil {
		return false
	}
	failing := d.ends() && isTrue(d.status(), batchv1.JobFailureTarget)
	for i, pod := range d.them.in.Pods {
		phase, ended := corev1.PodSucceeded, podutil.IsPodTerminal(pod)
		spared := !ended && !d.failed(pod) // counts as failed only because the Job fails
		switch {
		case !d.finalized(pod):
			continue
		case slices.Contains(u.Failed, pod.UID) && ended:
			phase = corev1.PodFailed
		case !slices.Contains(u.Succeeded, pod.UID) || slices.Contains(u.Failed, pod.UID):
			continue
		case spared && !(failing && d.reaches(pod)):
			continue
		}
		if !ended {
			d.addTwin(pod)
		}
		if phase == pod.Status.Phase {
			continue
		}
		d.replacePod(i, func(p *corev1.Pod) {
			if p.Status.Phase = phase; spared {
				delete(p.Annotations, batchv1.JobCompletionIndexAnnotation) // it completes no index, and comes first
			}
		})
		changed = true
	}
	return changed
}

// reaches reports whether the controller, with the current input, comes to a listed pod before its lists are full. If
// they are full from the start, onlyListed makes it come to all pods in them.
func (d *dispute) reaches(pod *corev1.Pod) bool {
	if d.full() {
		return true
	}
	r := run{in: d.them.in}
	r.in.Fail.Status = nil
	r.sync()
	return slices.ContainsFunc(r.outcome.Strips, func(c call) bool { return c.Pod == pod.Name })
}

// addTwin adds a pod in the state of another one, which is not counted.
func (d *dispute) addTwin(pod *corev1.Pod) {
	in, other := &d.them.in, pod.DeepCopy()
	other.Name, other.UID = pod.Name+twin, pod.UID+twin
	other.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(in.Job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	if active(pod) {
		in.Memory.Stripped = append(slices.Clone(in.Memory.Stripped), other.UID)
	} else {
		other.Finalizers = nil // it would fail its index
	}
	in.Pods = append(slices.Clone(in.Pods), other)
	for _, faults := range []*map[string]error{&in.Fail.Delete, &in.Fail.StripToDelete} {
		if err := (*faults)[pod.Name]; err != nil {
			*faults = maps.Clone(*faults)
			(*faults)[other.Name] = err
		}
	}
}

// withoutOverlap removes completed indexes from failedIndexes, and lets no pod fail one.
func withoutOverlap(d *dispute) (changed bool) {
	if !d.perIndex() {
		return false
	}
	job := d.them.in.Job
	completed := parseIndexes(job, job.Status.CompletedIndexes)
	for _, pod := range d.them.in.Pods {
		if d.finalized(pod) && valid(job, pod) && pod.Status.Phase == corev1.PodSucceeded {
			completed = completed.Union(indexset.Of(builtin.IndexOf(pod)))
		}
	}
	if job.Status.FailedIndexes != nil {
		failed := parseIndexes(job, *job.Status.FailedIndexes)
		if failed.IntersectionLen(completed) > 0 {
			job.Status.FailedIndexes, changed = new(failed.Difference(completed).String()), true
		}
	}
	return d.spareCompleted(completed) || changed
}

// spareCompleted lets no pod fail a completed index, by its count or a FailIndex rule. These rules become Count rules,
// and the limit at least 1; then the count of each pod decides whether it fails its index.
func (d *dispute) spareCompleted(completed indexset.Set) bool {
	job := d.them.in.Job
	limit := *job.Spec.BackoffLimitPerIndex
	counts, failIndex, spares := map[int]int{}, map[string]bool{}, false
	for i, pod := range d.them.in.Pods {
		count, action := classify.CountsOf(&names, pod.Annotations).Failures, d.action(pod)
		if action == batchv1.PodFailurePolicyActionFailIndex {
			failIndex[pod.Name] = true
		}
		if !d.finalized(pod) || !valid(job, pod) || !d.failed(pod) || action == batchv1.PodFailurePolicyActionIgnore ||
			count < limit && !failIndex[pod.Name] {
			continue
		}
		if counts[i] = int(max(count, limit, 1)); completed.Contains(builtin.IndexOf(pod)) {
			counts[i], spares = 0, true
		}
	}
	if !spares {
		return false
	}
	d.failIndex = failIndex
	for i, n := range counts {
		d.replacePod(i, func(p *corev1.Pod) { p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(n) })
	}
	job.Spec.BackoffLimitPerIndex = new(max(limit, 1))
	if policy := job.Spec.PodFailurePolicy; policy != nil {
		for i := range policy.Rules {
			if policy.Rules[i].Action == batchv1.PodFailurePolicyActionFailIndex {
				policy.Rules[i].Action = batchv1.PodFailurePolicyActionCount
			}
		}
	}
	return true
}

func parseIndexes(job *batchv1.Job, text string) indexset.Set {
	set, _ := indexset.ParseDamaged(text, *job.Spec.Completions)
	return set
}

// shift is the number that withinRange subtracts from failure counts so large that the next count
// would not fit into an int32.
const shift = math.MaxInt32 - 1<<29

// longest is the longest deadline, in seconds, that does not overflow. slack is subtracted from it,
// because a start in the future is added.
const (
	longest = math.MaxInt64 / 1_000_000_000
	slack   = 3600
)

// baseWithinCap lowers the first delay to the longest delay.
func baseWithinCap(d *dispute) bool {
	if d.base() <= d.delay() {
		return false
	}
	d.them.in.Limits.Base = d.delay()
	return true
}

// orphansWithoutReference removes the owner reference to the Job from pods that the Job does not
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

// withinRange lowers numbers that would overflow in the controller. The decision stays the same,
// because they are still above any limit.
func withinRange(d *dispute) (changed bool) {
	if s := d.them.in.Job.Spec.ActiveDeadlineSeconds; s != nil && *s > longest-slack {
		d.them.in.Job.Spec.ActiveDeadlineSeconds = new(min(*s, longest) - slack)
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

// onlyListed lets the controller handle all pods, although its lists are full. The removal of the
// finalizer fails for pods that are not in the lists. withoutUnlisted then removes these pods from
// the lists again.
func onlyListed(d *dispute) bool {
	if !d.full() {
		return false
	}
	u := d.them.in.Job.Status.UncountedTerminatedPods
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

// full reports whether the pods in the lists leave no room for others.
func (d *dispute) full() bool {
	u, listed := d.them.in.Job.Status.UncountedTerminatedPods, 0
	for _, pod := range d.them.in.Pods {
		if u != nil && d.tracked(pod) && (slices.Contains(u.Failed, pod.UID) || slices.Contains(u.Succeeded, pod.UID)) {
			listed++
		}
	}
	return listed >= d.uncountedCap()
}

// keepVerdict keeps the pods with a FailJob verdict while the controller does not store it. Pods in
// a list stay there, because the removal of their finalizer fails. The others are hidden from the
// controller.
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

// noneFailedLater makes the controller choose the predecessor that jobfate chooses: the
// failed pod of an index with the highest count or, of several such pods, the one that
// failed last. It changes the finish times of the other pods so that none of them failed
// later. No other part of the comparison depends on these times.
func noneFailedLater(d *dispute) (changed bool) {
	if !d.perIndex() || d.ends() || d.them.in.Job.DeletionTimestamp != nil {
		return false // no pod is replaced
	}
	settled := d.settled()
	candidate := func(p *corev1.Pod) bool {
		return d.tracked(p) && valid(d.them.in.Job, p) && d.failed(p) && !settled.Contains(builtin.IndexOf(p))
	}
	compare := func(a, b *corev1.Pod) int {
		return cmp.Or(classify.CountsOf(&names, a.Annotations).Compare(classify.CountsOf(&names, b.Annotations)), real.FinishedTime(a).Compare(real.FinishedTime(b)))
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

// finishAt changes each time that the controller may use as the finish time of a pod.
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

// status returns the status of jobfate before finalizers are removed.
func (d *dispute) status() *batchv1.JobStatus {
	if st := d.us.decision.Status; st != nil {
		return st
	}
	return d.stored
}

// ends reports whether the Job ends in this sync, so that no pod is replaced: no deletion is
// outstanding, and every write is observed.
func (d *dispute) ends() bool {
	interim := isTrue(d.status(), batchv1.JobSuccessCriteriaMet) || isTrue(d.status(), batchv1.JobFailureTarget)
	return interim && d.them.in.Creations+d.them.in.Deletions == 0 && !slices.ContainsFunc(d.us.out.Deletions, call.failed)
}

// settled returns the indexes that get no new pod: they are completed, have failed, or have an active
// pod.
func (d *dispute) settled() indexset.Set {
	job := d.them.in.Job
	set := parseIndexes(job, d.status().CompletedIndexes)
	if failed := d.status().FailedIndexes; failed != nil {
		set = set.Union(parseIndexes(job, *failed))
	}
	for _, p := range d.them.in.Pods {
		if d.ours(p) && active(p) {
			if index := builtin.IndexOf(p); index >= 0 {
				set = set.Union(indexset.Of(index))
			}
		}
	}
	return set
}

// phantom is the pod that seeInFlight adds.
const phantom = "phantom"

// seeInFlight adds a pod in place of the writes in flight, so that the controller does not end the Job: an active one,
// or a terminating one for deletions because the Job ends. The pod is not counted.
func seeInFlight(d *dispute) bool {
	in := &d.them.in
	pod := podtest.PodOf(in.Job, phantom, "", podtest.Released, podtest.Phase(corev1.PodRunning))
	pod.Name = phantom
	completes := func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuccessCriteriaMet && c.Reason == batchv1.JobReasonCompletionsReached
	}
	ends := func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed }
	_, _, terminating := d.unobserved()
	switch {
	case in.Creations+in.Deletions > 0 && !isTrue(d.stored, batchv1.JobSuccessCriteriaMet) && d.stores(completes):
	case isDecided(d.stored) && terminating > 0 && d.stores(ends):
		pod.DeletionTimestamp = new(metav1.NewTime(in.Now))
	default:
		return false
	}
	in.Pods = append(in.Pods, pod)
	return true
}

// stores reports whether the controller, with the current input, stores a condition that is True.
func (d *dispute) stores(such func(batchv1.JobCondition) bool) bool {
	d.them.sync()
	return slices.ContainsFunc(d.them.outcome.Statuses, func(c call) bool {
		return slices.ContainsFunc(c.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Status == corev1.ConditionTrue && such(c) })
	})
}

// writeAlways makes the controller write the status in any case: the stored status gets an additional
// difference.
func writeAlways(d *dispute) bool {
	d.them.in.Job.Status.Active += 1_000_000
	return true
}

// withoutUnobserved subtracts the creations and deletions in flight from the stored status, which
// counts them. The controller then writes a status for the same reasons as jobfate. withUnobserved
// adds them to what it writes.
func withoutUnobserved(d *dispute) bool {
	in := &d.them.in
	return d.count(&in.Job.Status, -1)
}

// count adds the creations and deletions in flight to a status, or subtracts them.
func (d *dispute) count(st *batchv1.JobStatus, sign int32) bool {
	add, ready, terminating := d.unobserved()
	st.Active += sign * add
	if st.Ready != nil {
		st.Ready = new(*st.Ready + sign*ready)
	}
	if st.Terminating == nil {
		return add != 0
	}
	st.Terminating = new(*st.Terminating + sign*terminating)
	return add != 0 || terminating != 0
}

// unobserved returns what the writes in flight add to the counts of the cache.
func (d *dispute) unobserved() (running, ready, terminating int32) {
	in := &d.snapshot.InFlight
	if len(in.Pods) == 0 {
		return int32(in.Creations), 0, int32(in.Deletions)
	}
	for _, pod := range in.Pods {
		i := slices.IndexFunc(d.snapshot.Pods, func(p *corev1.Pod) bool { return p.UID == pod.UID && d.ours(p) })
		switch {
		case i < 0 && pod.Deleted:
			terminating++
		case i < 0:
			running++
		case pod.Deleted && active(d.snapshot.Pods[i]) && !d.deletesAgain(d.snapshot.Pods[i]):
			running--
			terminating++
			if podutil.IsPodReady(d.snapshot.Pods[i]) {
				ready--
			}
		}
	}
	return running, ready, terminating
}

// deletesAgain reports whether the controller deletes a pod in this sync, and so counts it as terminating.
func (d *dispute) deletesAgain(pod *corev1.Pod) bool {
	return slices.ContainsFunc(d.direct.outcome.Deletions, func(c call) bool {
		return c.Kind == real.Delete && c.Pod == pod.Name && !c.failed()
	})
}

// The relation of a pod to a Job, in the simplest form.

func selects(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

func controls(job *batchv1.Job, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.UID == job.UID && owner.Name == job.Name
}

func adoptable(job *batchv1.Job, pod *corev1.Pod) bool {
	return metav1.GetControllerOf(pod) == nil && selects(job, pod) && job.DeletionTimestamp == nil && pod.DeletionTimestamp == nil
}

// ours reports whether the Job has the pod after the claims: it owns the pod, or adopts it and the pod
// is not gone.
func (d *dispute) ours(pod *corev1.Pod) bool {
	job := d.them.in.Job
	return controls(job, pod) && selects(job, pod) || adoptable(job, pod) && !apierrors.IsNotFound(d.fail.Adopt[pod.Name])
}

// finalized reports whether the Job has the pod, and the pod has the finalizer or gets it by
// adoption.
func (d *dispute) finalized(pod *corev1.Pod) bool {
	return d.ours(pod) && (builtin.HasFinalizer(pod) || metav1.GetControllerOf(pod) == nil)
}

// tracked reports whether the pod has the finalizer and is not counted yet.
func (d *dispute) tracked(pod *corev1.Pod) bool {
	return d.finalized(pod) && !slices.Contains(d.them.in.Stripped, pod.UID)
}

// valid reports whether the index of the pod allows it to count.
func valid(job *batchv1.Job, pod *corev1.Pod) bool {
	if !indexed(job) {
		return true
	}
	index := builtin.IndexOf(pod)
	if job.Spec.Completions == nil {
		return index == 0 // the default is 1
	}
	return index >= 0 && index < *job.Spec.Completions
}

// failed reports whether the pod counts as failed by its phase.
func (d *dispute) failed(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed ||
		pod.Status.Phase != corev1.PodSucceeded && pod.DeletionTimestamp != nil && !d.onlyFailedReplaced()
}

// active reports whether the pod has not ended and is not being deleted.
func active(pod *corev1.Pod) bool { return !podutil.IsPodTerminal(pod) && pod.DeletionTimestamp == nil }

// replacePod puts a changed copy of a pod into the input.
func (d *dispute) replacePod(i int, change func(*corev1.Pod)) {
	pod := d.them.in.Pods[i].DeepCopy()
	change(pod)
	d.them.in.Pods[i] = pod
}

func (d *dispute) pod(name string) *corev1.Pod {
	if i := slices.IndexFunc(d.them.in.Pods, func(p *corev1.Pod) bool { return p.Name == name }); i >= 0 {
		return d.them.in.Pods[i]
	}
	return nil
}
