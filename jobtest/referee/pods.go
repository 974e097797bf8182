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

// seeWrite checks a patch or a deletion of a pod.
func (r Rules) seeWrite(g *Ghost, s *cluster.Step) *Violation {
	old := s.OldPod
	owner := metav1.GetControllerOfNoCopy(old)
	switch {
	case owner == nil && s.Request.Verb == cluster.Delete && !g.Adopted[old.UID] && !ownedBy(or(find(s.View.Pods, old.UID), old), s.View.Job):
		return violated("S15", "%s has no controller, and a deletion of it is asked for", old.UID)
	case owner == nil:
		if s.Pod != nil && ownedBy(s.Pod, s.View.Job) {
			if !selects(s.View.Job, old) && !selects(s.View.Job, or(find(s.View.Pods, old.UID), old)) {
				return violated("S15", "%s is adopted, and %s does not select it", old.UID, s.View.Job.UID)
			}
			g.Adopted[old.UID], g.Strange[old.UID] = true, true
		}
	case !r.treats(owner):
		return violated("S15", "%s belongs to the %s %s, and a %s of it is asked for", old.UID, owner.Kind, owner.Name, s.Request.Verb)
	case s.View.Job == nil || owner.UID != s.View.Job.UID:
		// The pods of an earlier Job lose their finalizer, and no more.
		if s.Request.Verb == cluster.Delete || s.Pod != nil && (hasFinalizer(s.Pod) && !hasFinalizer(old) || metav1.GetControllerOfNoCopy(s.Pod) == nil) {
			return violated("S15", "%s belongs to %s, and a %s of it is asked for", old.UID, owner.UID, s.Request.Verb)
		}
		return nil
	}
	if !namesUID(s.Request, old.UID) {
		return violated("S15", "a %s of %s does not name its UID", s.Request.Verb, old.UID)
	}
	// A pod may have changed since the controller saw it; what it saw decides.
	if s.Request.Verb == cluster.Patch && hasFinalizer(old) && !hasFinalizer(s.Pod) && !mayLose(g, s, old) &&
		!mayLose(g, s, find(s.View.Pods, old.UID)) {
		return violated("S2", "the finalizer of %s goes, and nothing records it", old.UID)
	}
	if s.Request.Verb == cluster.Patch && hasFinalizer(old) && !hasFinalizer(s.Pod) && losesVerdict(g, s) {
		return violated("S18", "the finalizer of %s goes, which fails the Job by a rule, and the status does not say so", old.UID)
	}
	if index, ok := indexOf(old); ok && s.Request.Verb == cluster.Patch && !cluster.HasEnded(old) && !hasFinalizer(s.Pod) {
		// The controller deletes a pod that has not ended: because the Job is
		// suspended, or smaller. The failures that the pod carried go with it, as
		// in Kubernetes.
		delete(g.Failures, index)
	}
	if g.Strange[old.UID] && hasFinalizer(old) && !hasFinalizer(s.Pod) || completedBefore(s, old) {
		// Its end was news, and nothing in the status need tell of it.
		g.Forgive()
	}
	if _, charged := g.Charged[old.UID]; !charged && hasFinalizer(old) && !hasFinalizer(s.Pod) {
		if seen := find(s.View.Pods, old.UID); seen != nil && seen.Status.Phase == corev1.PodFailed {
			g.forgive(s.View, []types.UID{old.UID}, false) // a failure that is ignored is news as well
		}
	}
	if ownedBy(old, s.Job) && s.Pod != nil && !ownedBy(s.Pod, s.Job) {
		g.release(old.UID)
	}
	return nil
}

// or is a pod as it was seen, or else as it is.
func or(seen, pod *corev1.Pod) *corev1.Pod {
	if seen != nil {
		return seen
	}
	return pod
}

// completedBefore reports whether a pod that loses its finalizer has succeeded at
// an index that was completed already.
func completedBefore(s *cluster.Step, pod *corev1.Pod) bool {
	index, ok := indexOf(pod)
	return ok && pod.Status.Phase == corev1.PodSucceeded && hasFinalizer(pod) && !hasFinalizer(s.Pod) &&
		s.View.Job != nil && contains(s.View.Job.Status.CompletedIndexes, index)
}

// namesUID reports whether a write can meet no other pod of the same name: it names the
// UID, or the resource version.
func namesUID(r *cluster.Request, uid types.UID) bool {
	if r.Verb == cluster.Delete {
		p := r.Options.Preconditions
		return p != nil && (p.UID != nil || p.ResourceVersion != nil)
	}
	return bytes.Contains(r.Patch, []byte(strconv.Quote(string(uid)))) || bytes.Contains(r.Patch, []byte(`"resourceVersion":"`))
}

// mayLose reports whether the finalizer of a pod may go.
func mayLose(g *Ghost, s *cluster.Step, pod *corev1.Pod) bool {
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
	if isTrue(&job.Status, batchv1.JobComplete) || isTrue(&job.Status, batchv1.JobFailed) {
		return true
	}
	if !cluster.HasEnded(pod) && bytes.Contains(s.Request.Patch, []byte(`"resourceVersion"`)) {
		return true // deleted by the controller itself, next, if it has not ended meanwhile
	}
	// When a Job fails, the rules are applied to the pods that still run too.
	fails := pod.Status.Phase == corev1.PodFailed || isTrue(&job.Status, batchv1.JobFailureTarget)
	if fails && action(job, pod) == batchv1.PodFailurePolicyActionIgnore {
		return true
	}
	if isTrue(&job.Status, batchv1.JobSuccessCriteriaMet) && pod.Status.Phase != corev1.PodFailed {
		return true
	}
	if !isIndexed(job) {
		return false
	}
	index, ok := indexOf(pod)
	// Whether an index is in range is for the spec to say that the controller saw.
	if !ok || index >= *job.Spec.Completions || s.View.Job != nil && index >= *s.View.Job.Spec.Completions {
		return true
	}
	// An index that the controller saw as completed was recorded, even if the Job
	// has been scaled down since and knows of it no more.
	return pod.Status.Phase == corev1.PodSucceeded && (contains(job.Status.CompletedIndexes, index) ||
		s.View.Job != nil && s.View.Job.UID == job.UID && contains(s.View.Job.Status.CompletedIndexes, index))
}

// losesVerdict reports whether a pod goes that the controller saw to have failed by
// a FailJob rule, and no condition of the Job records how it ends. A pod that the
// Job did not select then, or does not own now, is not its to judge. One that is recorded
// as succeeded is not judged again if its phase changes.
func losesVerdict(g *Ghost, s *cluster.Step) bool {
	saw, seen := s.View.Job, find(s.View.Pods, s.OldPod.UID)
	switch {
	case s.Job == nil || saw == nil || saw.UID != s.Job.UID || seen == nil || seen.Status.Phase != corev1.PodFailed:
		return false
	case g.Charged[s.OldPod.UID] == corev1.PodSucceeded:
		return false
	case s.Job.DeletionTimestamp != nil || saw.DeletionTimestamp != nil || isOver(&s.Job.Status) || isOver(&saw.Status):
		return false
	case !ownedBy(s.OldPod, s.Job) || !concerns(seen, saw) || !selects(saw, seen):
		return false
	}
	return action(saw, seen) == batchv1.PodFailurePolicyActionFailJob
}

func selects(job *batchv1.Job, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// seeCreation checks a pod that the controller has created.
func (r Rules) seeCreation(g *Ghost, s *cluster.Step) *Violation {
	seen, pod := s.View.Job, s.Pod
	switch {
	case seen == nil || !ownedBy(pod, seen):
		return violated("S15", "%s is created without an observed Job", pod.UID)
	case isOver(&seen.Status), !g.Blind && s.Job != nil && isOver(&s.Job.Status):
		return violated("S7", "%s is created, and the Job has been decided", pod.UID)
	case seen.Spec.Suspend != nil && *seen.Spec.Suspend:
		return violated("S7", "%s is created, and the Job is suspended", pod.UID)
	case seen.DeletionTimestamp != nil:
		return violated("S7", "%s is created, and the Job is being deleted", pod.UID)
	}
	if s.Job == nil || s.Job.UID != seen.UID {
		return nil // the Job went meanwhile, which no controller can know
	}
	if v := g.ripe(s); v != nil {
		return v
	}
	pods := s.Pods()
	if v := g.tooMany(s, pods); v != nil {
		return v
	}
	if isIndexed(seen) {
		if v := g.unwanted(s, pods); v != nil {
			return v
		}
	}
	if seen.Spec.BackoffLimitPerIndex != nil {
		return r.seeSuccessor(g, s, pods)
	}
	return r.tooSoon(g, s, pods)
}

func isOver(st *batchv1.JobStatus) bool {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobComplete, batchv1.JobFailed} {
		if isTrue(st, kind) {
			return true
		}
	}
	return false
}

// occupies reports whether a pod takes a place that another must not be created
// for.
func occupies(job *batchv1.Job, pod *corev1.Pod) bool {
	return ownedBy(pod, job) && !cluster.HasEnded(pod) && !failsDeleted(job, pod)
}

// failsDeleted reports whether a pod that has not ended counts as failed, for it is
// being deleted.
func failsDeleted(job *batchv1.Job, pod *corev1.Pod) bool {
	onlyFailed := job.Spec.PodReplacementPolicy != nil && *job.Spec.PodReplacementPolicy == batchv1.Failed
	return !cluster.HasEnded(pod) && pod.DeletionTimestamp != nil && !onlyFailed
}

func (g *Ghost) tooMany(s *cluster.Step, pods []*corev1.Pod) *Violation {
	if g.Blind {
		return nil
	}
	n := int32(0)
	for _, pod := range pods {
		if occupies(s.Job, pod) && !g.Strange[pod.UID] {
			n++
		}
	}
	if n > g.Parallelism {
		return violated("S6", "with %s there are %d pods, and parallelism was never above %d", s.Pod.UID, n, g.Parallelism)
	}
	seen := s.View.Job
	if isIndexed(seen) || seen.Spec.Completions == nil || g.Disturbed {
		return nil
	}
	_, listed := uncounted(&seen.Status)
	if succeeded := seen.Status.Succeeded + int32(len(listed)); n > *seen.Spec.Completions-succeeded {
		return violated("S5", "with %s there are %d pods, and of %d completions %d are there", s.Pod.UID, n, *seen.Spec.Completions, succeeded)
	}
	return nil
}

// unwanted checks that an index needs the pod that was created for it.
func (g *Ghost) unwanted(s *cluster.Step, pods []*corev1.Pod) *Violation {
	seen := s.View.Job
	index, ok := indexOf(s.Pod)
	if !ok || index >= *seen.Spec.Completions {
		return violated("S5", "%s is created for the index %d of %d", s.Pod.UID, index, *seen.Spec.Completions)
	}
	for _, st := range []*batchv1.JobStatus{&seen.Status, &s.Job.Status} {
		over := contains(st.CompletedIndexes, index) || seen.Spec.BackoffLimitPerIndex != nil && st.FailedIndexes != nil && contains(*st.FailedIndexes, index)
		if over && (st == &seen.Status || !g.Blind) {
			return violated("S5", "%s is created, and its index %d is done", s.Pod.UID, index)
		}
	}
	for _, pod := range pods {
		other, ok := indexOf(pod)
		if ok && other == index && pod.UID != s.Pod.UID && occupies(s.Job, pod) && !g.Strange[pod.UID] && !g.Blind {
			return violated("S6", "%s is created, and %s is alive in its index %d", s.Pod.UID, pod.UID, index)
		}
	}
	return nil
}

// seeSuccessor checks the failures that a pod takes over from those before it in
// its index, and that it does not come too soon after them.
func (r Rules) seeSuccessor(g *Ghost, s *cluster.Step, pods []*corev1.Pod) *Violation {
	index, _ := indexOf(s.Pod)
	carries, _ := strconv.ParseInt(s.Pod.Annotations[batchv1.JobIndexFailureCountAnnotation], 10, 32)
	// Of two pods that have failed, which a restart may leave, either may be the last.
	had := int64(g.Failures[index])
	least, most := int64(math.MaxInt64), had
	for _, pod := range pods {
		other, ok := indexOf(pod)
		if !ok || other != index || pod.UID == s.Pod.UID || !hasFinalizer(pod) || !ownedBy(pod, s.Job) {
			continue
		}
		// Its end may have been another, or of another kind, when it was seen.
		seen := find(s.View.Pods, pod.UID)
		if seen == nil || seen.Status.Phase != corev1.PodFailed && !failsDeleted(s.View.Job, seen) {
			continue
		}
		if g.Strange[pod.UID] {
			return nil // what another client has added, or edited, may be believed
		}
		failures := number(seen, batchv1.JobIndexFailureCountAnnotation)
		if seen.Status.Phase != corev1.PodFailed {
			most = max(most, failures+1) // the controller may have deleted it, and then nothing is demanded
			continue
		}
		ignored := number(seen, batchv1.JobIndexIgnoredFailureCountAnnotation)
		if !g.Blind && s.View.Now.Before(backoff.FinishTime(seen).Add(r.delay(int32(min(failures+ignored+1, 100))))) && !g.Disturbed {
			return violated("S12", "%s replaces %s too soon", s.Pod.UID, pod.UID)
		}
		if action(s.Job, seen) != batchv1.PodFailurePolicyActionIgnore {
			failures = min(failures+1, math.MaxInt32)
		}
		least, most = min(least, failures), max(most, failures)
	}
	if g.Disturbed || g.Blind {
		return nil
	}
	has := least <= most
	if !has || least < had {
		least = had
	}
	if carries < least || has && carries > most {
		return violated("S13", "%s carries %d failures, and index %d has had %d", s.Pod.UID, carries, index, least)
	}
	g.Failures[index] = int32(carries)
	return nil
}

// tooSoon checks a pod of a Job that backs off as a whole. Of the number of
// failures only the first is demanded here: how many there were since the last
// success depends on what the controller remembers. The last failure is the one
// of the latest news, even if an earlier one claims to have ended later: the
// clock may have gone back.
//
// A pod without a valid index is no pod of an Indexed Job: its failure does not
// count, and delays nothing. Neither does one that will not be counted, because
// another client took its finalizer, or because the controller did so when it was not
// to be counted.
func (r Rules) tooSoon(g *Ghost, s *cluster.Step, pods []*corev1.Pod) *Violation {
	var news, charged, succeeded time.Time
	fresh := false // there is other news: a success, which forgives what was charged, or a deletion
	for _, pod := range s.View.Pods {
		adopted := metav1.GetControllerOfNoCopy(pod) == nil
		if !ownedBy(pod, s.View.Job) && !adopted || !counts(pod, s.View.Job) {
			continue
		}
		if g.Strange[pod.UID] || adopted {
			return nil // it may be news that it has ended, however long ago that was
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
		case as == corev1.PodFailed && pod.DeletionTimestamp == nil: // else it ended after it was charged
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

// counts reports whether the end of a pod counts for a Job: if that is Indexed, the
// pod must have one of its indexes.
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
	n, _ := strconv.ParseInt(pod.Annotations[annotation], 10, 32)
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
