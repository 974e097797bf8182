package stories

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// A record in doubt is computed from the counted pods: it has the failures after the last
// success. Running pods are ignored, and pods that are not counted yet are added.
func TestBackoffInDoubt_whatItCounts(t *testing.T) {
	job := specJob(t, "completions: 5\nparallelism: 5")
	noon := job.CreationTimestamp.Time
	pod := func(n int, phase corev1.PodPhase, after time.Duration) *corev1.Pod {
		pod := without(podIn(job, n, phase))
		for i := range pod.Status.ContainerStatuses {
			if ended := pod.Status.ContainerStatuses[i].State.Terminated; ended != nil {
				ended.FinishedAt = metav1.NewTime(noon.Add(after))
			}
		}
		return pod
	}
	newsOf := func(pod *corev1.Pod) backoff.Record {
		return backoff.Record{Job: job.UID, Failures: 1, LastFailure: backoff.FinishTime(pod)}
	}
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		want backoff.Record
	}{
		{"none", nil, backoff.Record{Job: job.UID}},
		{"a failure", []*corev1.Pod{pod(1, corev1.PodFailed, time.Second)}, backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon.Add(time.Second)}},
		{"a success between failures", []*corev1.Pod{
			pod(1, corev1.PodFailed, time.Second), pod(2, corev1.PodSucceeded, 2*time.Second), pod(3, corev1.PodFailed, 3*time.Second),
		}, backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon.Add(3 * time.Second)}},
		{"a success after a failure", []*corev1.Pod{pod(1, corev1.PodFailed, time.Second), pod(2, corev1.PodSucceeded, 2*time.Second)}, backoff.Record{Job: job.UID}},
		{"a pod that runs", []*corev1.Pod{pod(1, corev1.PodRunning, 0)}, backoff.Record{Job: job.UID}},
		{"a failure that is not counted yet", []*corev1.Pod{podIn(job, 1, corev1.PodFailed)}, newsOf(podIn(job, 1, corev1.PodFailed))},
		// Two pods failed and were counted together. The controller was killed after it had
		// removed one of the two finalizers, and restarts with a stale Job. So it treats
		// one pod as not counted yet. The other one failed later or earlier.
		{"a failure that is not counted yet, and a later one that is", []*corev1.Pod{pod(2, corev1.PodFailed, time.Second), podIn(job, 1, corev1.PodFailed)},
			backoff.Record{Job: job.UID, Failures: 2, LastFailure: noon.Add(time.Second)}},
		{"a failure that is not counted yet, and an earlier one that is", []*corev1.Pod{pod(2, corev1.PodFailed, -time.Second), podIn(job, 1, corev1.PodFailed)},
			backoff.Record{Job: job.UID, Failures: 2, LastFailure: newsOf(podIn(job, 1, corev1.PodFailed)).LastFailure}},
		{"a success that is not counted yet", []*corev1.Pod{pod(2, corev1.PodFailed, time.Second), podIn(job, 1, corev1.PodSucceeded)},
			backoff.Record{Job: job.UID}},
	} {
		got := Must(decide.Job(decide.Snapshot{Job: job, Pods: test.pods, Now: noon.Add(time.Minute)}))
		Same(t, test.name, got.Backoff, test.want)
	}
}

// Pods beyond completions, which an Indexed Job has after it is scaled down, do not count:
// neither their failures nor their successes are in the record.
func TestBackoffInDoubt_podsBeyondCompletions(t *testing.T) {
	job := specJob(t, "completions: 5\nparallelism: 5\ncompletionMode: Indexed")
	within, beyond := without(podIn(job, 1, corev1.PodFailed)), podIn(job, 5, corev1.PodFailed)
	succeeded := podIn(job, 4, corev1.PodSucceeded)
	*job.Spec.Completions, *job.Spec.Parallelism = 3, 3
	got := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{within, without(beyond), without(succeeded)},
		Now: job.CreationTimestamp.Add(time.Minute)})).Backoff
	want := backoff.Record{Job: job.UID, Failures: 1, LastFailure: backoff.FinishTime(within)}
	Same(t, "the record", got, want)
}

// A caller without a memory gets the delay that is due: its zero record may lack failures. A record
// of the Job without failures says that there were none.
func TestBackoff_zeroRecordMayLackFailures(t *testing.T) {
	job := specJob(t, "completions: 1\nparallelism: 1")
	job.Status.Failed = 1
	counted := without(podIn(job, 1, corev1.PodFailed))
	for _, test := range []struct {
		record  backoff.Record
		create  int
		requeue time.Duration
	}{
		{backoff.Record{}, 0, 10 * time.Second},
		{backoff.Record{Job: "an earlier Job"}, 0, 10 * time.Second},
		{backoff.Record{Job: job.UID}, 1, 0},
	} {
		d := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{counted}, Now: backoff.FinishTime(counted), Backoff: test.record}))
		Same(t, fmt.Sprintf("with the record %+v: pods to create, requeue", test.record),
			Pair(len(d.Create), d.Requeue), Pair(test.create, test.requeue))
	}
}

// A record that is not in doubt takes the last failure from the pods that are not counted
// yet, even if it has a later time because the clock was set back. Kubernetes 1.37 does
// the same.
func TestBackoff_newsDecide(t *testing.T) {
	job := specJob(t, "completions: 5\nparallelism: 5")
	news := podIn(job, 1, corev1.PodFailed)
	at := backoff.FinishTime(news)
	remembered := backoff.Record{Job: job.UID, Failures: 1, LastFailure: at.Add(time.Hour)}
	doubtful := remembered
	doubtful.Job = ""
	for record, want := range map[backoff.Record]time.Time{remembered: at, doubtful: remembered.LastFailure} {
		got := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{news}, Now: at.Add(2 * time.Hour), Backoff: record}))
		Same(t, fmt.Sprintf("record %+v", record), got.Backoff, backoff.Record{Job: job.UID, Failures: 2, LastFailure: want})
	}
	// KEP-3850: a failed pod may move the last failure "only until it is added to the
	// uncountedTerminatedPods structure".
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{news.UID}}
	got := Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{news}, Now: at.Add(2 * time.Hour), Backoff: remembered}))
	Same(t, "once its UID is recorded", got.Backoff, remembered)
}

// A Job is suspended, which deletes its pods without counting them, and resumed while they
// are still terminating. A restarted controller cannot know whether they were counted. The
// delay is that of one failure, not of one failure per pod.
func TestBackoffInDoubt_podsThatTerminate(t *testing.T) {
	job := specJob(t, "completions: 100\nparallelism: 100")
	noon := job.CreationTimestamp.Time
	due, grace := metav1.NewTime(noon.Add(30*time.Second)), int64(30)
	var pods []*corev1.Pod
	for n := range 100 {
		pod := without(podIn(job, n+1, corev1.PodRunning))
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &due, &grace
		pods = append(pods, pod)
	}
	got := Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon.Add(time.Second)}))
	want := backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon}
	Same(t, "the record, and the delay", Pair(got.Backoff, got.Requeue), Pair(want, 9*time.Second))
	// The time is that of the last deletion, regardless of the order of the pods.
	later := metav1.NewTime(due.Add(5 * time.Second))
	pods[50].DeletionTimestamp = &later
	got = Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon.Add(6 * time.Second)}))
	Same(t, "the last failure, with a pod that was deleted later", got.Backoff.LastFailure, noon.Add(5*time.Second))
	pods[50].DeletionTimestamp = &due
	// Pods in the uncounted lists are in the record.
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	for _, pod := range pods[:2] {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
		job.Status.UncountedTerminatedPods.Failed = append(job.Status.UncountedTerminatedPods.Failed, pod.UID)
	}
	got = Must(decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: noon.Add(time.Second)}))
	Same(t, "failures with two listed pods", got.Backoff.Failures, 3)
}

// A pod that a user deletes counts as failed when its deletion begins. For a controller that
// restarts, it failed when it ended, so the delay becomes longer, never shorter.
func TestBackoffInDoubt_podThatWasDeletedAndHasEnded(t *testing.T) {
	job := specJob(t, "completions: 2\nparallelism: 2")
	noon := job.CreationTimestamp.Time
	pod := podIn(job, 1, corev1.PodRunning)
	due, grace := metav1.NewTime(noon.Add(30*time.Second)), int64(30)
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &due, &grace
	look := func(pod *corev1.Pod, record backoff.Record) decide.Decision {
		return Must(decide.Job(decide.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon.Add(20 * time.Second), Backoff: record}))
	}
	Same(t, "while it ends", look(pod, backoff.Record{Job: job.UID}).Backoff, backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon})
	ended := without(podIn(job, 1, corev1.PodFailed))
	ended.DeletionTimestamp, ended.DeletionGracePeriodSeconds = &due, &grace
	for i := range ended.Status.ContainerStatuses {
		ended.Status.ContainerStatuses[i].State.Terminated.FinishedAt = metav1.NewTime(noon.Add(5 * time.Second))
	}
	Same(t, "after it has ended, and a restart", look(ended, backoff.Record{}).Backoff,
		backoff.Record{Job: job.UID, Failures: 1, LastFailure: noon.Add(5 * time.Second)})
}
