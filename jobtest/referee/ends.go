package referee

import (
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// These checks verify that a Job ends only when that is due: by the spec and the pods that
// the controller observed, and by the status that it stored.

// checkEnd checks that a verdict that a status adds is due.
func (g *Ghost) checkEnd(s *cluster.Step) *Violation {
	old, now := &s.OldJob.Status, &s.Job.Status
	if s.View.Job == nil {
		return nil
	}
	e := &ending{Ghost: g, spec: &s.View.Job.Spec, now: now, view: s.View}
	if isTrue(now, batchv1.JobSuccessCriteriaMet) && !isTrue(old, batchv1.JobSuccessCriteriaMet) && !e.succeeds() {
		return violated("S17", "the Job succeeds, but %d pods have succeeded and the completed indexes are %q",
			now.Succeeded, now.CompletedIndexes)
	}
	if isTrue(now, batchv1.JobFailureTarget) && !isTrue(old, batchv1.JobFailureTarget) {
		if reason := reasonOf(now, batchv1.JobFailureTarget); !e.fails(reason) {
			return violated("S17", "the Job fails with the reason %s, but that is not due with %d failed pods",
				reason, now.Failed)
		}
	}
	return nil
}

// Due reports whether a Job has enough successes in its status but no verdict yet. It is
// false for a Job without completions.
func Due(job *batchv1.Job) bool {
	e := &ending{Ghost: &Ghost{}, spec: &job.Spec, now: &job.Status, view: &cluster.View{Job: job}}
	return job.Spec.Completions != nil && !Decided(job) && e.succeeds()
}

// ending holds the data by which a verdict is judged.
type ending struct {
	*Ghost
	spec *batchv1.JobSpec
	now  *batchv1.JobStatus
	view *cluster.View
}

// unrecorded counts the pods that were observed in a phase and are in no status, or may be counted
// again. There may be more than fit in one status. A terminating pod may count as failed.
func (e *ending) unrecorded(phase corev1.PodPhase) (n int32) {
	for _, pod := range e.view.Pods {
		as, charged := e.Charged[pod.UID]
		ignored := phase == corev1.PodFailed && Action(e.view.Job, pod) == batchv1.PodFailurePolicyActionIgnore
		is := pod.Status.Phase == phase ||
			phase == corev1.PodFailed && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
		if is && (!charged || as == released) && !ignored && concerns(pod, e.view.Job) {
			n++
		}
	}
	return n
}

// concerns reports whether the Job owns a pod or may adopt it.
func concerns(pod *corev1.Pod, job *batchv1.Job) bool {
	return ownedBy(pod, job) || metav1.GetControllerOfNoCopy(pod) == nil
}

func (e *ending) succeeds() bool {
	_, listed := uncounted(e.now)
	succeeded := e.now.Succeeded + int32(len(listed)) + e.unrecorded(corev1.PodSucceeded)
	switch {
	case e.spec.Completions == nil:
		return succeeded > 0
	case !isIndexed(e.view.Job):
		return succeeded >= *e.spec.Completions
	}
	completed := e.completed()
	if int32(completed.Len()) >= *e.spec.Completions {
		return true
	}
	if e.spec.SuccessPolicy == nil || completed.IsEmpty() {
		return false // even if 0 are enough
	}
	for _, rule := range e.spec.SuccessPolicy.Rules {
		of, need := completed, *e.spec.Completions
		if rule.SucceededIndexes != nil {
			named, err := indexset.ParseOrdered(*rule.SucceededIndexes, *e.spec.Completions)
			if err != nil {
				continue
			}
			of, need = completed.Intersection(named), int32(named.Len())
		}
		if rule.SucceededCount != nil {
			need = *rule.SucceededCount
		}
		if int32(of.Len()) >= need {
			return true
		}
	}
	return false
}

// completed returns the indexes in the status, and those of pods that were observed to have
// succeeded, now or when they were listed.
func (e *ending) completed() indexset.Set {
	completed := setOf(e.view.Job, &e.now.CompletedIndexes)
	_, listed := uncounted(e.now)
	for _, pod := range e.view.Pods {
		succeeded := pod.Status.Phase == corev1.PodSucceeded || slices.Contains(listed, pod.UID)
		if index, ok := indexOf(pod); ok && succeeded && concerns(pod, e.view.Job) {
			completed = completed.Union(indexset.Of(index))
		}
	}
	return completed.Clip(*e.spec.Completions)
}

func (e *ending) failedIndexes() indexset.Set { return setOf(e.view.Job, e.now.FailedIndexes) }

// fails reports whether a Job may fail for a reason. Reasons that Kubernetes does not
// define are not checked.
func (e *ending) fails(reason string) bool {
	listed, _ := uncounted(e.now)
	failed := e.now.Failed + int32(len(listed)) + e.unrecorded(corev1.PodFailed)
	switch {
	case reason == batchv1.JobReasonDeadlineExceeded:
		return overdue(e.spec, e.now, e.view.Now)
	case reason == batchv1.JobReasonBackoffLimitExceeded:
		return failed+e.restarts() > limitOf(e.spec)
	case reason == batchv1.JobReasonMaxFailedIndexesExceeded:
		return e.spec.MaxFailedIndexes != nil && int32(e.failedIndexes().Len()) > *e.spec.MaxFailedIndexes
	case reason == batchv1.JobReasonFailedIndexes:
		indexes := e.failedIndexes()
		return !indexes.IsEmpty() && int32(indexes.Union(e.completed()).Len()) >= *e.spec.Completions
	case strings.HasPrefix(reason, batchv1.JobReasonPodFailurePolicy) && e.spec.PodFailurePolicy != nil:
		for _, pod := range e.view.Pods {
			// A pod charged as failed has failed, regardless of its current phase.
			failed := e.failed(pod.UID) || pod.Status.Phase == corev1.PodFailed && concerns(pod, e.view.Job)
			if failed && Action(e.view.Job, pod) == batchv1.PodFailurePolicyActionFailJob {
				return true
			}
		}
		return false
	}
	return true
}

// restarts counts the container restarts, which count as failures with OnFailure. There the
// limit is exceeded as soon as it is reached.
func (e *ending) restarts() (n int32) {
	if e.spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return 0
	}
	for _, pod := range e.view.Pods {
		if !concerns(pod, e.view.Job) {
			continue
		}
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses,
			pod.Status.InitContainerStatuses} {
			for i := range statuses {
				n += statuses[i].RestartCount
			}
		}
	}
	if n > 0 {
		n++
	}
	return n
}

func limitOf(spec *batchv1.JobSpec) int32 {
	if spec.BackoffLimit != nil {
		return *spec.BackoffLimit
	}
	return 6
}

func overdue(spec *batchv1.JobSpec, st *batchv1.JobStatus, now time.Time) bool {
	if spec.ActiveDeadlineSeconds == nil || st.StartTime == nil {
		return false
	}
	const most = int64(math.MaxInt64 / time.Second) // no duration is longer
	return now.Sub(st.StartTime.Time) >= time.Duration(min(*spec.ActiveDeadlineSeconds, most))*time.Second
}

func reasonOf(st *batchv1.JobStatus, kind batchv1.JobConditionType) string {
	for i := range st.Conditions {
		if st.Conditions[i].Type == kind && st.Conditions[i].Status == corev1.ConditionTrue {
			return st.Conditions[i].Reason
		}
	}
	return ""
}

// checkNotDue checks that a Job that gets another pod is not due for a verdict by the status that
// the controller observed.
func (g *Ghost) checkNotDue(s *cluster.Step) *Violation {
	spec, st := &s.View.Job.Spec, &s.View.Job.Status
	failed, succeeded := uncounted(st)
	switch {
	case spec.BackoffLimitPerIndex == nil && st.Failed+int32(len(failed)) > limitOf(spec):
		return violated("S17", "%s is created, but %d pods have failed", s.Pod.UID, st.Failed+int32(len(failed)))
	case overdue(spec, st, s.View.Now) && !isTrue(st, batchv1.JobSuspended):
		return violated("S17", "%s is created after the deadline", s.Pod.UID)
	}
	view := *s.View
	if spec.SuccessPolicy != nil || spec.PodFailurePolicy != nil {
		view.Pods = slices.DeleteFunc(slices.Clone(view.Pods), func(pod *corev1.Pod) bool {
			// A pod charged as succeeded has not failed, regardless of its current phase.
			flipped := pod.Status.Phase == corev1.PodFailed && slices.Contains(succeeded, pod.UID)
			return flipped || !ownedBy(pod, view.Job) || !hasFinalizer(pod) || g.Tampered[pod.UID] ||
				g.failed(pod.UID) || !selects(view.Job, pod)
		})
	}
	e := &ending{Ghost: g, spec: spec, now: st, view: &view}
	switch {
	case spec.SuccessPolicy != nil && e.succeeds():
		return violated("S17", "%s is created, but the success policy is met", s.Pod.UID)
	case spec.PodFailurePolicy != nil && e.fails(batchv1.JobReasonPodFailurePolicy):
		return violated("S17", "%s is created, but the failure of a pod matches a FailJob rule", s.Pod.UID)
	case spec.MaxFailedIndexes == nil:
		return nil
	}
	// After a restart or an action of a user, a failed index may have another pod, which
	// may have completed it.
	e.view = s.View
	if failed := e.failedIndexes().Difference(e.completed()); int32(failed.Len()) > *spec.MaxFailedIndexes {
		return violated("S17", "%s is created, but the indexes %s have failed", s.Pod.UID, failed)
	}
	return nil
}

// verdicts are the conditions that say how a Job ends.
var verdicts = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget, batchv1.JobComplete,
	batchv1.JobFailed}

// Decided reports whether the status says how the Job ends, or the Job is gone.
func Decided(job *batchv1.Job) bool { return job == nil || isTrue(&job.Status, verdicts...) }

// Ended reports whether a Job has ended, or is gone.
func Ended(job *batchv1.Job) bool {
	return job == nil || isTrue(&job.Status, batchv1.JobComplete, batchv1.JobFailed)
}

// isTrue reports whether any of the conditions is true, even if a false one of the same type
// precedes it.
func isTrue(st *batchv1.JobStatus, kinds ...batchv1.JobConditionType) bool {
	return slices.ContainsFunc(kinds, func(k batchv1.JobConditionType) bool { return listed(st, k) > 0 })
}

func isIndexed(job *batchv1.Job) bool {
	return job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// These checks verify that a verdict that was acted on is kept. What shows a verdict may be gone a
// moment later: the restarts that exceed a limit count only while their pods run, and the controller
// deletes these pods. So the interim condition must be stored first. From then on the Job can end
// in no other way.

// checkDeletion checks that the interim condition is stored when the controller deletes a pod because
// the Job ends. Only these pods keep their finalizers, since they must still be counted (KEP-2307 §
// Deleted Pods). The controller may also have removed the finalizer of a pod that another client
// then orphaned, and that got a new one when it was adopted.
func (g *Ghost) checkDeletion(s *cluster.Step) *Violation {
	pod, job := s.OldPod, s.Job
	switch {
	case s.Request.Verb != cluster.Delete || !hasFinalizer(pod) || g.Adopted[pod.UID]:
	case job == nil || !ownedBy(pod, job) || job.DeletionTimestamp != nil || Decided(job):
	default:
		return violated("S22", "%s is deleted with its finalizer, but the Job has no interim condition", pod.UID)
	}
	return nil
}

// checkKept checks that a Job ends for the reason that was stored first.
func checkKept(s *cluster.Step) *Violation {
	old, now := &s.OldJob.Status, &s.Job.Status
	for i, interim := range verdicts[:2] {
		terminal := verdicts[i+2]
		reason := reasonOf(now, interim)
		if was := reasonOf(old, interim); isTrue(old, interim) && reason != was {
			return violated("S22", "the reason of %s was %q and becomes %q", interim, was, reason)
		}
		if end := reasonOf(now, terminal); isTrue(now, terminal) && end != reason {
			return violated("S22", "the reason of %s is %q, that of %s %q", interim, reason, terminal, end)
		}
	}
	return nil
}
