package referee

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// checkCharges checks the counters of a stored status, and charges the pods that it records.
func (g *Ghost) checkCharges(s *cluster.Step) *Violation {
	old, now := &s.OldJob.Status, &s.Job.Status
	wasFailed, wasSucceeded := uncounted(old)
	failed, succeeded := uncounted(now)
	newFailed, err := g.charge(wasFailed, failed, corev1.PodFailed)
	g.forgive(s.View, newFailed, now.Succeeded+int32(len(succeeded)) > old.Succeeded+int32(len(wasSucceeded)))
	g.InDoubt = false
	var newSucceeded []types.UID
	if err == nil {
		newSucceeded, err = g.charge(wasSucceeded, succeeded, corev1.PodSucceeded)
	}
	if err != nil {
		return violated("S1", "%v", err)
	}
	if v := g.checkOwners(s, slices.Concat(newFailed, newSucceeded)); v != nil {
		return v
	}
	all := slices.Concat(failed, succeeded)
	if len(all) > 500 {
		return violated("S5", "%d pods are listed as uncounted", len(all))
	}
	if slices.Sort(all); len(slices.Compact(all)) < len(failed)+len(succeeded) {
		return violated("S1", "a pod is listed as uncounted twice: %v", all)
	}
	if n := now.Failed + int32(len(failed)); n != g.Failed {
		return violated("S1", "failed is %d with %d uncounted, but %d pods were recorded", now.Failed,
			len(failed), g.Failed)
	}
	indexed := isIndexed(s.Job)
	if n := now.Succeeded + int32(len(succeeded)); !indexed && n != g.Succeeded {
		return violated("S1", "succeeded is %d with %d uncounted, but %d pods were recorded", now.Succeeded,
			len(succeeded), g.Succeeded)
	}
	if v := checkResults(s, newFailed, newSucceeded); v != nil {
		return v
	}
	pods := s.Pods()
	for _, uid := range slices.Concat(newFailed, newSucceeded) {
		if pod := find(pods, uid); pod != nil && (!ownedBy(pod, s.Job) || !selects(s.Job, pod)) {
			g.Charged[uid] = released // another client removed its owner or labels
		}
	}
	if v := g.checkIgnored(s, pods, newFailed); v != nil {
		return v
	}
	for _, uid := range slices.Concat(wasFailed, wasSucceeded) {
		if slices.Contains(failed, uid) || slices.Contains(succeeded, uid) {
			continue
		}
		if pod := find(pods, uid); pod != nil && hasFinalizer(pod) && !g.Tampered[uid] {
			return violated("S1", "%s leaves the list of uncounted pods and still has its finalizer", uid)
		}
	}
	return nil
}

// checkOwners checks that a Job charges only its own pods.
func (g *Ghost) checkOwners(s *cluster.Step, charged []types.UID) *Violation {
	pods := s.Pods()
	for _, uid := range charged {
		pod := find(s.View.Pods, uid)
		if pod == nil || concerns(pod, s.Job) || g.Adopted[uid] || ownedBy(seenOrStored(find(pods, uid), pod), s.Job) {
			continue
		}
		return violated("S1", "%s is counted for %s, but belongs to %s", uid, s.Job.UID,
			metav1.GetControllerOfNoCopy(pod).UID)
	}
	return nil
}

// checkResults checks that pods are charged by the phase in which the controller observed them. A
// terminating pod may be charged as failed, and so may every pod when the Job ends.
func checkResults(s *cluster.Step, failed, succeeded []types.UID) *Violation {
	over := Decided(s.Job)
	for _, uid := range failed {
		pod := find(s.View.Pods, uid)
		if pod != nil && pod.Status.Phase != corev1.PodFailed &&
			(pod.Status.Phase == corev1.PodSucceeded || pod.DeletionTimestamp == nil && !over) {
			return violated("S1", "%s is counted as failed, but its observed phase is %s", uid, pod.Status.Phase)
		}
	}
	for _, uid := range succeeded {
		if pod := find(s.View.Pods, uid); pod != nil && pod.Status.Phase != corev1.PodSucceeded {
			return violated("S1", "%s is counted as succeeded, but its observed phase is %s", uid, pod.Status.Phase)
		}
	}
	return nil
}

// checkIndexes checks that indexes complete or fail because of observed pods, and that failed
// indexes stay failed.
func (g *Ghost) checkIndexes(s *cluster.Step) *Violation {
	job := s.View.Job
	if job == nil || !isIndexed(job) {
		return nil
	}
	old, now := &s.OldJob.Status, &s.Job.Status
	completed := setOf(job, &now.CompletedIndexes)
	for index := range completed.Difference(setOf(job, &old.CompletedIndexes)).All() {
		if !hasPod(s, index, func(pod *corev1.Pod) bool {
			return pod.Status.Phase == corev1.PodSucceeded || g.Charged[pod.UID] == corev1.PodSucceeded
		}) {
			return violated("S4", "index %d is completed, but no pod of it was observed to succeed", index)
		}
	}
	if job.Spec.BackoffLimitPerIndex == nil || g.StateLost {
		return nil
	}
	was, is := setOf(job, old.FailedIndexes), setOf(job, now.FailedIndexes)
	// After a restart a failed index may have another pod, which may complete it.
	if lost := was.Difference(is).Difference(completed); !lost.IsEmpty() {
		return violated("S3", "failedIndexes loses %s", lost)
	}
	for index := range is.Difference(was).All() {
		if !hasPod(s, index, func(pod *corev1.Pod) bool {
			rule := Action(job, pod)
			return pod.Status.Phase == corev1.PodFailed && (rule == batchv1.PodFailurePolicyActionFailIndex ||
				rule != batchv1.PodFailurePolicyActionIgnore &&
					number(pod, batchv1.JobIndexFailureCountAnnotation) >= int64(*job.Spec.BackoffLimitPerIndex)) ||
				pod.Status.Phase != corev1.PodSucceeded && pod.DeletionTimestamp != nil || g.failed(pod.UID)
		}) {
			return violated("S4", "index %d has failed, but no pod of it was observed to exceed the limit", index)
		}
	}
	return nil
}

// failed reports whether a pod has been charged as failed, regardless of its current phase.
func (g *Ghost) failed(uid types.UID) bool {
	as := g.Charged[uid]
	return as == corev1.PodFailed || as == forgiven
}

// setOf returns the indexes of a Job in a list, which another client may have damaged.
func setOf(job *batchv1.Job, text *string) (set indexset.Set) {
	if text != nil {
		set, _ = indexset.ParseDamaged(*text, *job.Spec.Completions)
	}
	return set
}

// hasPod reports whether the controller observed a pod of an index for which such is true.
func hasPod(s *cluster.Step, index int32, such func(*corev1.Pod) bool) bool {
	return slices.ContainsFunc(s.View.Pods, func(pod *corev1.Pod) bool {
		n, ok := indexOf(pod)
		return ok && n == index && concerns(pod, s.View.Job) && such(pod)
	})
}

// forgive records which failures no longer delay pods, after a status records more pods. After a
// success, these are the failures before it. After a failure, these are the failures whose pods
// have a later finish time. If a status records a failure and a success, their finish times decide.
// They also decide for a controller in doubt, which keeps its backoff record when the pods are
// gone.
func (g *Ghost) forgive(v *cluster.View, charged []types.UID, success bool) {
	var succeeded, failed time.Time
	for _, pod := range v.Pods {
		switch at := backoff.FinishTime(pod); {
		case pod.Status.Phase == corev1.PodSucceeded && ownedBy(pod, v.Job):
			succeeded = latest(succeeded, at)
			// A success that is already recorded is new to a controller that does not know the
			// record, because another leader wrote it or an answer was lost.
			success = success || (g.Behind || g.InDoubt) && hasFinalizer(pod)
		case slices.Contains(charged, pod.UID):
			failed = latest(failed, at)
		}
	}
	for uid, as := range g.Charged {
		if as != corev1.PodFailed {
			continue
		}
		pod, news := find(v.Pods, uid), slices.Contains(charged, uid)
		switch {
		case pod == nil:
			if success {
				g.Charged[uid] = forgiven
			}
		case success && (!news || !backoff.FinishTime(pod).After(succeeded)),
			g.InDoubt && !news && (!backoff.FinishTime(pod).After(succeeded) || !counts(pod, v.Job)),
			len(charged) > 0 && backoff.FinishTime(pod).After(failed):
			g.Charged[uid] = forgiven
		}
	}
}

// checkIgnored checks that no pod is charged whose first matching rule is Ignore.
func (g *Ghost) checkIgnored(s *cluster.Step, pods []*corev1.Pod, charged []types.UID) *Violation {
	for _, uid := range charged {
		pod := find(s.View.Pods, uid)
		if pod == nil {
			return violated("S1", "%s is counted, but was not observed", uid)
		}
		if pod.Status.Phase == corev1.PodFailed && Action(s.View.Job, pod) == batchv1.PodFailurePolicyActionIgnore {
			return violated("S14", "%s is counted, but a rule says to ignore it", uid)
		}
	}
	return nil
}

// checkStatus checks the change from one status to another.
func checkStatus(s *cluster.Step) *Violation {
	for _, check := range []func(*batchv1.Job, *batchv1.JobStatus, *batchv1.JobStatus) *Violation{
		counters, indexes, ends, terminal, suspension,
	} {
		if v := check(s.OldJob, &s.OldJob.Status, &s.Job.Status); v != nil {
			return v
		}
	}
	return nil
}

func counters(job *batchv1.Job, old, now *batchv1.JobStatus) *Violation {
	scaled := isIndexed(job) && *job.Spec.Completions == *job.Spec.Parallelism
	switch {
	case now.Failed < old.Failed:
		return violated("S3", "failed falls from %d to %d", old.Failed, now.Failed)
	case now.Succeeded < old.Succeeded && !scaled:
		return violated("S3", "succeeded falls from %d to %d", old.Succeeded, now.Succeeded)
	case now.Ready != nil && (*now.Ready < 0 || *now.Ready > now.Active):
		return violated("S10", "ready is %d, active %d", *now.Ready, now.Active)
	}
	return nil
}

func indexes(job *batchv1.Job, old, now *batchv1.JobStatus) *Violation {
	if !isIndexed(job) {
		return nil
	}
	completed, err := indexset.Parse(now.CompletedIndexes)
	if err != nil {
		return violated("S4", "completedIndexes: %v", err)
	}
	if lost := setOf(job, &old.CompletedIndexes).Difference(completed); !lost.IsEmpty() {
		return violated("S3", "completedIndexes loses %s", lost)
	}
	// After the Job is scaled down, its counter stays until the API server allows it to fall,
	// which is when completions equal parallelism.
	n, elastic := int32(completed.Len()), *job.Spec.Completions == *job.Spec.Parallelism
	if n != now.Succeeded && (n > now.Succeeded || now.Succeeded != old.Succeeded || elastic) {
		return violated("S1", "succeeded is %d, completedIndexes is %s", now.Succeeded, completed)
	}
	if now.FailedIndexes == nil {
		return nil
	}
	failed, err := indexset.Parse(*now.FailedIndexes)
	if err != nil {
		return violated("S4", "failedIndexes: %v", err)
	}
	if failed.IntersectionLen(completed) > 0 {
		return violated("S4", "completedIndexes is %s, failedIndexes is %s", completed, failed)
	}
	return nil
}

func ends(_ *batchv1.Job, old, now *batchv1.JobStatus) *Violation {
	for _, kind := range verdicts {
		if isTrue(old, kind) && !isTrue(now, kind) {
			return violated("S8", "the condition %s is removed", kind)
		}
	}
	for i := range now.Conditions {
		if kind := now.Conditions[i].Type; len(now.Conditions) > len(old.Conditions) &&
			listed(now, kind) > max(1, listed(old, kind)) {
			return violated("S8", "the condition %s is true twice", kind)
		}
	}
	complete, failed := isTrue(now, batchv1.JobComplete), isTrue(now, batchv1.JobFailed)
	met, target := isTrue(now, batchv1.JobSuccessCriteriaMet), isTrue(now, batchv1.JobFailureTarget)
	switch {
	case met && target:
		return violated("S8", "SuccessCriteriaMet and FailureTarget are both true")
	case complete && !met:
		return violated("S8", "Complete without SuccessCriteriaMet")
	case failed && !target:
		return violated("S8", "Failed without FailureTarget")
	case isTrue(old, batchv1.JobComplete, batchv1.JobFailed):
		return violated("S8", "the status of a Job that has ended changes")
	}
	return nil
}

// listed returns how often a condition is listed as true.
func listed(st *batchv1.JobStatus, kind batchv1.JobConditionType) (n int) {
	for i := range st.Conditions {
		if st.Conditions[i].Type == kind && st.Conditions[i].Status == corev1.ConditionTrue {
			n++
		}
	}
	return n
}

func terminal(_ *batchv1.Job, old, now *batchv1.JobStatus) *Violation {
	complete := isTrue(now, batchv1.JobComplete)
	if !complete && !isTrue(now, batchv1.JobFailed) {
		// A wrong one stays, as in Kubernetes.
		if set := now.CompletionTime; set != nil && !set.Equal(old.CompletionTime) {
			return violated("S9", "the Job has not ended, but completionTime is %v", set)
		}
		return nil
	}
	failed, succeeded := uncounted(now)
	terminating := now.Terminating != nil && *now.Terminating != 0
	switch {
	case now.Active != 0 || terminating:
		return violated("S9", "the Job ends with %d pods active and %v terminating", now.Active, now.Terminating)
	case len(failed)+len(succeeded) > 0:
		return violated("S9", "the Job ends with uncounted pods")
	case now.StartTime == nil:
		return violated("S9", "the Job ends without a start time")
	case complete != (now.CompletionTime != nil):
		return violated("S9", "completionTime is %v", now.CompletionTime)
	case complete && now.CompletionTime.Before(now.StartTime):
		return violated("S9", "completionTime is before startTime")
	}
	return nil
}

// checkLeft checks that a Job does not end while one of its pods is running or uncounted. A
// pod that a user added or edited may have changed too late to be observed.
func (g *Ghost) checkLeft(s *cluster.Step) *Violation {
	if !Ended(s.Job) {
		return nil
	}
	for _, pod := range s.Pods() {
		switch {
		case !ownedBy(pod, s.Job) || g.Tampered[pod.UID]:
		case !cluster.HasEnded(pod) && !g.Behind:
			return violated("S19", "the Job ends, but %s is still running", pod.UID)
		case hasFinalizer(pod) && !g.Behind:
			return violated("S9", "the Job ends, but %s still has its finalizer", pod.UID)
		}
	}
	return nil
}

// suspension checks that a Job loses its start time when it is suspended. The deadline then
// starts again when the Job is resumed, and until then its scheduling directives can be
// edited.
func suspension(_ *batchv1.Job, old, now *batchv1.JobStatus) *Violation {
	if isTrue(now, batchv1.JobSuspended) && !isTrue(old, batchv1.JobSuspended) && now.StartTime != nil &&
		!isTrue(now, verdicts...) {
		return violated("S20", "the Job is suspended with the start time %v", now.StartTime)
	}
	return nil
}

func uncounted(st *batchv1.JobStatus) (failed, succeeded []types.UID) {
	if u := st.UncountedTerminatedPods; u != nil {
		return u.Failed, u.Succeeded
	}
	return nil, nil
}

func find(pods []*corev1.Pod, uid types.UID) *corev1.Pod {
	for _, pod := range pods {
		if pod.UID == uid {
			return pod
		}
	}
	return nil
}
