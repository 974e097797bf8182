package jobtest

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/indexset"
)

// Snapshots generates snapshots, each from the middle of the life of its Job.
func Snapshots(m Mix) *rapid.Generator[decide.Snapshot] {
	return generator(func(d Dice) decide.Snapshot {
		s := decide.Snapshot{Job: drawJob(d, m), Now: noon}
		for n := range d.Between(0, 8, "pods") {
			s.Pods = append(s.Pods, drawPod(d, m, s.Job, n))
		}
		drawStatus(d, m, s.Job, s.Pods)
		drawMemory(d, &s)
		return s
	})
}

// drawStatus draws the status that earlier syncs have left.
func drawStatus(d Dice, m Mix, job *batchv1.Job, pods []*corev1.Pod) {
	st := &job.Status
	if d.Chance(12, "no status") {
		return
	}
	if !isSuspended(job) || d.Chance(30, "started") {
		st.StartTime = new(instant(d, 120, 0, "start"))
	}
	st.Active = small(d, 4, "active")
	st.Failed = small(d, 4, "failed")
	if d.Chance(85, "ready known") {
		st.Ready = new(min(small(d, 4, "ready"), st.Active))
	}
	if d.Chance(85, "terminating known") {
		st.Terminating = new(small(d, 2, "terminating"))
	}
	drawFinished(d, m, job)
	drawUncounted(d, m, job, pods)
	drawInterim(d, st)
	if d.Chance(20, "suspension known") {
		c := condition(batchv1.JobSuspended, corev1.ConditionTrue, "JobSuspended", "Job suspended")
		if d.Chance(50, "resumed") {
			c = condition(batchv1.JobSuspended, corev1.ConditionFalse, "JobResumed", "Job resumed")
		}
		st.Conditions = append(st.Conditions, c)
	}
}

func isSuspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// drawFinished draws the completed and failed indexes of earlier syncs, or the count.
func drawFinished(d Dice, m Mix, job *batchv1.Job) {
	st := &job.Status
	if *job.Spec.CompletionMode != batchv1.IndexedCompletion {
		st.Succeeded = small(d, 3, "succeeded")
		return
	}
	// An Indexed Job may have been scaled down below what it has completed.
	n := min(*job.Spec.Completions, 6)
	if d.Chance(10, "scaled down") {
		n += 3
	}
	var completed, failed indexset.Builder
	for i := range n {
		switch weighted(d, "index is", w(6, 0), w(3, 1), w(2, 2)) {
		case 1:
			completed.Add(i)
		case 2:
			failed.Add(i)
		}
	}
	st.CompletedIndexes = completed.Set().String()
	st.Succeeded = int32(completed.Set().Len())
	if job.Spec.BackoffLimitPerIndex != nil && d.Chance(90, "failedIndexes known") {
		st.FailedIndexes = new(failed.Set().String())
	}
	if d.Chance(m.Damaged, "completedIndexes damaged") {
		st.CompletedIndexes = drawDamaged(d, "damaged completedIndexes")
	}
	if st.FailedIndexes != nil && d.Chance(m.Damaged, "failedIndexes damaged") {
		st.FailedIndexes = new(drawDamaged(d, "damaged failedIndexes"))
	}
	if d.Chance(m.Damaged/2, "succeeded damaged") {
		st.Succeeded = small(d, 6, "succeeded")
	}
}

func drawDamaged(d Dice, label string) string {
	return pick(d, label, "1,0", "2,2", "0-2,1", "3-1", "1-2-3", "x,1", "0,x-2", "1-", "-1", ",", "0,1,2,3",
		"01", "+1", "5,1", "99999999999,1", "0-99999999999", " 1", "0--2")
}

func drawUncounted(d Dice, m Mix, job *batchv1.Job, pods []*corev1.Pod) {
	if d.Chance(15, "lists unset") {
		return
	}
	u := &batchv1.UncountedTerminatedPods{}
	job.Status.UncountedTerminatedPods = u
	// An Indexed Job lists completed indexes instead of the UIDs of succeeded pods.
	listed := *job.Spec.CompletionMode != batchv1.IndexedCompletion || d.Chance(m.Damaged, "successes listed")
	for _, pod := range pods {
		if !d.Chance(20, "recorded") {
			continue
		}
		succeeded := pod.Status.Phase == corev1.PodSucceeded
		if d.Chance(m.Edited/2, "phase flipped") {
			succeeded = !succeeded
		}
		if succeeded && listed {
			u.Succeeded = append(u.Succeeded, pod.UID)
		} else if !succeeded && (pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil ||
			d.Chance(m.Edited, "phase reverted")) {
			u.Failed = append(u.Failed, pod.UID)
		}
	}
	for n := range d.Among(3, "gone pods") {
		uid := types.UID("gone-" + string(rune('a'+n)))
		if !listed || d.Chance(50, "gone failed") {
			u.Failed = append(u.Failed, uid)
		} else {
			u.Succeeded = append(u.Succeeded, uid)
		}
	}
}

func drawInterim(d Dice, st *batchv1.JobStatus) {
	switch weighted(d, "interim", w(88, 0), w(6, 1), w(6, 2)) {
	case 1:
		st.Conditions = append(st.Conditions, condition(batchv1.JobFailureTarget, corev1.ConditionTrue,
			"BackoffLimitExceeded", "Job has reached the specified backoff limit"))
	case 2:
		st.Conditions = append(st.Conditions, condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue,
			"SuccessPolicy", "Matched rules at index 0"))
	}
}

func condition(t batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) batchv1.JobCondition {
	at := metav1.NewTime(noon.Add(-50 * time.Second))
	return batchv1.JobCondition{Type: t, Status: status, Reason: reason, Message: message, LastProbeTime: at,
		LastTransitionTime: at}
}

// drawMemory draws the memory of the controller from its earlier syncs.
func drawMemory(d Dice, s *decide.Snapshot) {
	s.Backoff = backoff.Record{Job: s.Job.UID}
	if s.Backoff.Failures = small(d, 5, "remembered failures"); s.Backoff.Failures > 0 {
		s.Backoff.LastFailure = instant(d, 200, 10, "last failure").Time
	}
}
