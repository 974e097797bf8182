package referee

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// checkWrite checks a patch or a deletion of a pod.
func (r Rules) checkWrite(g *Ghost, s *cluster.Step) *Violation {
	old := s.OldPod
	owner := metav1.GetControllerOfNoCopy(old)
	switch {
	case owner == nil && s.Request.Verb == cluster.Delete && !g.Adopted[old.UID] &&
		!ownedBy(seenOrStored(find(s.View.Pods, old.UID), old), s.View.Job):
		return violated("S15", "the controller deletes %s, which has no owner", old.UID)
	case owner == nil:
		if s.Pod != nil && ownedBy(s.Pod, s.View.Job) {
			if !selects(s.View.Job, old) && !selects(s.View.Job, seenOrStored(find(s.View.Pods, old.UID), old)) {
				return violated("S15", "%s is adopted, but %s does not select it", old.UID, s.View.Job.UID)
			}
			g.Adopted[old.UID], g.Tampered[old.UID] = true, true
		}
	case !r.runsKindOf(owner):
		return violated("S15", "%s belongs to the %s %s, but the controller sends a %s for it", old.UID,
			owner.Kind, owner.Name, s.Request.Verb)
	case s.View.Job == nil || owner.UID != s.View.Job.UID:
		// The controller may only remove the finalizer from the pods of an earlier Job.
		if s.Request.Verb == cluster.Delete || s.Pod != nil &&
			(hasFinalizer(s.Pod) && !hasFinalizer(old) || metav1.GetControllerOfNoCopy(s.Pod) == nil) {
			return violated("S15", "%s belongs to %s, but the controller sends a %s for it", old.UID, owner.UID,
				s.Request.Verb)
		}
		return nil
	}
	if !namesUID(s.Request, old.UID) {
		return violated("S15", "a %s of %s does not name its UID", s.Request.Verb, old.UID)
	}
	patched := s.Request.Verb == cluster.Patch
	stripped, seen := hasFinalizer(old) && !hasFinalizer(s.Pod), find(s.View.Pods, old.UID)
	// A pod may have changed since the controller observed it. The version that it observed decides.
	if patched && stripped && !mayRemoveFinalizer(g, s, old) && !mayRemoveFinalizer(g, s, seen) {
		return violated("S2", "the finalizer of %s is removed, but no status records the pod", old.UID)
	}
	if patched && stripped && losesVerdict(g, s) {
		return violated("S18",
			"the finalizer of %s is removed, but the status lacks the FailJob verdict of the pod", old.UID)
	}
	if index, ok := indexOf(old); ok && patched && !cluster.HasEnded(old) && !hasFinalizer(s.Pod) {
		// The controller deletes a pod that has not ended, because the Job is suspended or
		// scaled down. The failure count of the pod is lost, as in Kubernetes.
		delete(g.Failures, index)
	}
	if g.Tampered[old.UID] && stripped || completedBefore(s, old) {
		// The controller observed the end of the pod, but the status need not record it.
		g.Forgive()
	}
	if _, charged := g.Charged[old.UID]; !charged && stripped && seen != nil && seen.Status.Phase == corev1.PodFailed {
		g.forgive(s.View, []types.UID{old.UID}, false) // so does an ignored failure
	}
	if ownedBy(old, s.Job) && s.Pod != nil && !ownedBy(s.Pod, s.Job) {
		g.release(old.UID)
	}
	if s.Request.Verb == cluster.Delete && !s.Lost {
		g.Deleted[old.UID] = true
	}
	return g.checkDeletion(s)
}

// seenOrStored returns the pod that was seen, or else the stored one.
func seenOrStored(seen, pod *corev1.Pod) *corev1.Pod {
	if seen != nil {
		return seen
	}
	return pod
}

// completedBefore reports whether a pod that loses its finalizer has succeeded for an index
// that was already completed.
func completedBefore(s *cluster.Step, pod *corev1.Pod) bool {
	index, ok := indexOf(pod)
	return ok && pod.Status.Phase == corev1.PodSucceeded && hasFinalizer(pod) && !hasFinalizer(s.Pod) &&
		s.View.Job != nil && contains(s.View.Job.Status.CompletedIndexes, index)
}

// namesUID reports whether a write has the UID or the resource version as a precondition,
// so that it cannot affect another pod of the same name.
func namesUID(r *cluster.Request, uid types.UID) bool {
	if r.Verb == cluster.Delete {
		p := r.Options.Preconditions
		return p != nil && (p.UID != nil || p.ResourceVersion != nil)
	}
	return bytes.Contains(r.Patch, []byte(strconv.Quote(string(uid)))) ||
		bytes.Contains(r.Patch, []byte(`"resourceVersion":"`))
}

// mayRemoveFinalizer reports whether the finalizer of a pod may be removed.
func mayRemoveFinalizer(g *Ghost, s *cluster.Step, pod *corev1.Pod) bool {
	job := s.Job
	if pod == nil {
		return false
	}
	if _, ok := g.Charged[pod.UID]; ok {
		return true
	}
	if job == nil || job.DeletionTimestamp != nil || !ownedBy(pod, job) || !selects(job, pod) {
		return true // deleted, orphaned or to be released
	}
	if Ended(job) {
		return true
	}
	if !cluster.HasEnded(pod) && bytes.Contains(s.Request.Patch, []byte(`"resourceVersion"`)) {
		return true // the controller deletes it next, unless it has ended
	}
	// When a Job fails, the rules also apply to running pods.
	fails := pod.Status.Phase == corev1.PodFailed || isTrue(&job.Status, batchv1.JobFailureTarget)
	if fails && Action(job, pod) == batchv1.PodFailurePolicyActionIgnore {
		return true
	}
	if isTrue(&job.Status, batchv1.JobSuccessCriteriaMet) && pod.Status.Phase != corev1.PodFailed {
		return true
	}
	if !isIndexed(job) {
		return false
	}
	index, ok := indexOf(pod)
	// The spec that the controller observed decides whether an index is in range.
	if !ok || index >= *job.Spec.Completions || s.View.Job != nil && index >= *s.View.Job.Spec.Completions {
		return true
	}
	// An index that the controller observed as completed was recorded, even if the Job was
	// scaled down and its status no longer has the index.
	return pod.Status.Phase == corev1.PodSucceeded && (contains(job.Status.CompletedIndexes, index) ||
		s.View.Job != nil && s.View.Job.UID == job.UID && contains(s.View.Job.Status.CompletedIndexes, index))
}

// losesVerdict reports whether the finalizer is removed from a pod that the controller observed
// fail by a FailJob rule, while no condition of the Job records a verdict. It ignores pods
// that the Job did not select then or does not own now, and pods that are recorded as
// succeeded.
func losesVerdict(g *Ghost, s *cluster.Step) bool {
	saw, seen := s.View.Job, find(s.View.Pods, s.OldPod.UID)
	switch {
	case s.Job == nil || saw == nil || saw.UID != s.Job.UID || seen == nil || seen.Status.Phase != corev1.PodFailed:
		return false
	case g.Charged[s.OldPod.UID] == corev1.PodSucceeded:
		return false
	case s.Job.DeletionTimestamp != nil || saw.DeletionTimestamp != nil || Decided(s.Job) || Decided(saw):
		return false
	case !ownedBy(s.OldPod, s.Job) || !concerns(seen, saw) || !selects(saw, seen):
		return false
	}
	return Action(saw, seen) == batchv1.PodFailurePolicyActionFailJob
}

func selects(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// checkCreation checks a pod that the controller creates.
func (r Rules) checkCreation(g *Ghost, s *cluster.Step) *Violation {
	seen, pod := s.View.Job, s.Pod
	if s.Lost {
		g.Unknown[pod.UID] = true
	}
	switch {
	case seen == nil || !ownedBy(pod, seen):
		return violated("S15", "%s is created without an observed Job", pod.UID)
	case Decided(seen), !g.Behind && s.Job != nil && Decided(s.Job):
		return violated("S7", "%s is created, but the Job has its verdict", pod.UID)
	case seen.Spec.Suspend != nil && *seen.Spec.Suspend:
		return violated("S7", "%s is created, but the Job is suspended", pod.UID)
	case seen.DeletionTimestamp != nil:
		return violated("S7", "%s is created, but the Job is being deleted", pod.UID)
	}
	if s.Job == nil || s.Job.UID != seen.UID {
		return nil // the Job was removed, which the controller cannot know yet
	}
	if v := g.checkNotDue(s); v != nil {
		return v
	}
	pods := s.Pods()
	if v := g.tooMany(s, pods); v != nil {
		return v
	}
	if isIndexed(seen) {
		if v := g.notNeeded(s, pods); v != nil {
			return v
		}
	}
	if seen.Spec.BackoffLimitPerIndex != nil {
		return r.checkSuccessor(g, s, pods)
	}
	return r.tooSoon(g, s, pods)
}

// occupies reports whether a pod takes a place of parallelism, so that no other pod may be
// created for it.
func occupies(job *batchv1.Job, pod *corev1.Pod) bool {
	return ownedBy(pod, job) && !cluster.HasEnded(pod) && !failsDeleted(job, pod)
}

// failsDeleted reports whether a pod that has not ended counts as failed because it is
// being deleted.
func failsDeleted(job *batchv1.Job, pod *corev1.Pod) bool {
	onlyFailed := job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
	return !cluster.HasEnded(pod) && pod.DeletionTimestamp != nil && !onlyFailed
}

func (g *Ghost) tooMany(s *cluster.Step, pods []*corev1.Pod) *Violation {
	if g.Behind {
		return nil
	}
	n := int32(0)
	for _, pod := range pods {
		if occupies(s.Job, pod) && !g.Tampered[pod.UID] {
			n++
		}
	}
	if n > g.Parallelism {
		return violated("S6", "with %s there are %d pods, but parallelism was never above %d", s.Pod.UID, n,
			g.Parallelism)
	}
	seen := s.View.Job
	if isIndexed(seen) || seen.Spec.Completions == nil || g.StateLost {
		return nil
	}
	_, listed := uncounted(&seen.Status)
	if succeeded := seen.Status.Succeeded + int32(len(listed)); n > *seen.Spec.Completions-succeeded {
		return violated("S5", "with %s there are %d pods, but %d of %d completions have succeeded", s.Pod.UID,
			n, succeeded, *seen.Spec.Completions)
	}
	return nil
}

// notNeeded checks that a created pod is needed for its index.
func (g *Ghost) notNeeded(s *cluster.Step, pods []*corev1.Pod) *Violation {
	seen := s.View.Job
	index, ok := indexOf(s.Pod)
	if !ok || index >= *seen.Spec.Completions {
		return violated("S5", "%s is created for index %d, but completions is %d", s.Pod.UID, index,
			*seen.Spec.Completions)
	}
	for _, st := range []*batchv1.JobStatus{&seen.Status, &s.Job.Status} {
		over := contains(st.CompletedIndexes, index) ||
			seen.Spec.BackoffLimitPerIndex != nil && st.FailedIndexes != nil && contains(*st.FailedIndexes, index)
		if over && (st == &seen.Status || !g.Behind) {
			return violated("S5", "%s is created, but its index %d has ended", s.Pod.UID, index)
		}
	}
	for _, pod := range pods {
		other, ok := indexOf(pod)
		if ok && other == index && pod.UID != s.Pod.UID && occupies(s.Job, pod) && !g.Tampered[pod.UID] && !g.Behind {
			return violated("S6", "%s is created, but %s is active for its index %d", s.Pod.UID, pod.UID, index)
		}
	}
	return nil
}

// checkSuccessor checks the failure count that a pod has from its predecessors, and that its
// backoff delay has passed.
func (r Rules) checkSuccessor(g *Ghost, s *cluster.Step, pods []*corev1.Pod) *Violation {
	index, _ := indexOf(s.Pod)
	carries, _ := strconv.ParseInt(s.Pod.Annotations[batchv1.JobIndexFailureCountAnnotation], 10, 32)
	// A restart may leave two failed pods. Either may be the predecessor, but the delay is that of the one with
	// more failures.
	had, highest := int64(g.Failures[index]), int64(-1)
	var early *corev1.Pod // its delay has not passed
	var deleted bool      // the predecessor may be a deleted pod that has not ended
	least, most := int64(math.MaxInt64), had
	for _, pod := range pods {
		other, ok := indexOf(pod)
		if !ok || other != index || pod.UID == s.Pod.UID || !hasFinalizer(pod) || !ownedBy(pod, s.Job) {
			continue
		}
		// When the controller observed the pod, it may have had another end time or phase.
		seen := find(s.View.Pods, pod.UID)
		if seen == nil || seen.Status.Phase != corev1.PodFailed && !failsDeleted(s.View.Job, seen) {
			continue
		}
		if g.Tampered[pod.UID] {
			return nil // the controller may rely on pods that another client added or edited
		}
		failures := number(seen, batchv1.JobIndexFailureCountAnnotation)
		if seen.Status.Phase != corev1.PodFailed {
			most = max(most, failures+1) // the controller may have deleted it, and then least stays as it is
			deleted = true
			continue
		}
		ignored := number(seen, batchv1.JobIndexIgnoredFailureCountAnnotation)
		passed := !s.View.Now.Before(backoff.FinishTime(seen).Add(r.delay(int32(min(failures+ignored+1, 100)))))
		switch total := failures + ignored; {
		case total > highest:
			if highest, early = total, pod; passed {
				early = nil
			}
		case total == highest && passed:
			early = nil
		}
		if Action(s.Job, seen) != batchv1.PodFailurePolicyActionIgnore {
			failures = min(failures+1, math.MaxInt32)
		}
		least, most = min(least, failures), max(most, failures)
	}
	if early != nil && !deleted && !g.Behind && !g.StateLost {
		return violated("S12", "%s replaces %s before the backoff delay has passed", s.Pod.UID, early.UID)
	}
	if g.StateLost || g.Behind {
		return nil
	}
	has := least <= most
	if !has || least < had {
		least = had
	}
	if carries < least || has && carries > most {
		return violated("S13", "%s has failure count %d, but index %d has had %d failures", s.Pod.UID, carries,
			index, least)
	}
	g.Failures[index] = int32(carries)
	return nil
}

// tooSoon checks the delay of a pod of a Job without a backoff limit per index. It requires only
// the delay after one failure, because the number of failures since the last success depends on
// what the controller remembers. The last failure is the one that was recorded last, even if an
// earlier one has a later finish time: the clock may have gone back.
//
// In an Indexed Job, the failure of a pod without a valid index does not count and causes
// no delay. Nor does the failure of a pod that will not be counted because another client
// or the controller removed its finalizer.
func (r Rules) tooSoon(g *Ghost, s *cluster.Step, pods []*corev1.Pod) *Violation {
	var news, charged, succeeded time.Time
	fresh := false // another end is new: a success, which forgives charged failures, or a deletion
	for _, pod := range s.View.Pods {
		adopted := metav1.GetControllerOfNoCopy(pod) == nil
		if !ownedBy(pod, s.View.Job) && !adopted || !counts(pod, s.View.Job) {
			continue
		}
		if g.Tampered[pod.UID] || adopted {
			return nil // its end may be newly observed, even if it was long ago
		}
		at := backoff.FinishTime(pod)
		as, counted := g.Charged[pod.UID]
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			fresh = fresh || hasFinalizer(pod)
			succeeded = latest(succeeded, at)
		case failsDeleted(s.View.Job, pod):
			fresh = fresh || !counted && hasFinalizer(pod)
		case pod.Status.Phase != corev1.PodFailed:
		// a deleted one may have ended after it was charged
		case as == corev1.PodFailed && pod.DeletionTimestamp == nil:
			charged = latest(charged, at)
		case !counted && hasFinalizer(pod) && hasFinalizer(find(pods, pod.UID)):
			news = latest(news, at)
		}
	}
	failed := news
	if news.IsZero() && !fresh {
		failed = charged
	}
	if failed.After(succeeded) && s.View.Now.Before(failed.Add(r.delay(1))) {
		return violated("S12", "%s is created %v after a failure", s.Pod.UID, s.View.Now.Sub(failed))
	}
	return nil
}

// counts reports whether the end of a pod counts for a Job. For an Indexed Job, the pod
// must have one of its indexes.
func counts(pod *corev1.Pod, job *batchv1.Job) bool {
	index, ok := indexOf(pod)
	return job == nil || !isIndexed(job) || ok && index < *job.Spec.Completions
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func number(pod *corev1.Pod, annotation string) int64 {
	n, err := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
	if err != nil {
		return 0 // above the largest int32 too
	}
	return max(n, 0)
}

func indexOf(pod *corev1.Pod) (int32, bool) {
	n, err := strconv.ParseInt(pod.Annotations[batchv1.JobCompletionIndexAnnotation], 10, 32)
	return int32(n), err == nil && n >= 0
}

func contains(list string, index int32) bool {
	set, err := indexset.Parse(list)
	return err == nil && set.Contains(index)
}

func hasFinalizer(pod *corev1.Pod) bool {
	return pod != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}
