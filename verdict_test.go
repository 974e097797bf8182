package jobfate

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/lifecycle"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// A FailJob verdict is stored before the pod that shows it loses its finalizer.
// Kubernetes 1.37 loses the verdict when the end of the Job has to wait: kept-verdict
// in docs/divergences.md.
func TestVerdict_isStoredBeforeItsPodGoes(t *testing.T) {
	none := func(*Snapshot) {}
	for _, test := range []struct {
		name   string
		change func(*Snapshot)
		done   Undone
		stored bool // the verdict is in the status
		strip  []types.UID
	}{
		{"the Job can end at once", none, Undone{}, true, []types.UID{"evicted", "running"}},
		{"a creation is unobserved", func(s *Snapshot) { s.InFlight.Creations = 1 }, Undone{}, false, nil},
		{"a deletion is unobserved", func(s *Snapshot) { s.InFlight.Deletions = 1 }, Undone{}, false, nil},
		{"a deletion fails", none, Undone{Deletions: []types.UID{"running"}}, false, nil},
		{"another pod is counted nevertheless", func(s *Snapshot) {
			s.InFlight.Creations = 1
			s.Pods = append(s.Pods, verdictPod(s.Job, "done", corev1.PodSucceeded))
		}, Undone{}, false, []types.UID{"done"}},
		{"the pod is in an uncounted list", func(s *Snapshot) {
			s.InFlight.Creations = 1
			s.Job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"evicted"}}
		}, Undone{}, false, nil},
		{"the status has the verdict", func(s *Snapshot) {
			s.InFlight.Creations = 1
			s.Job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue}}
		}, Undone{}, true, []types.UID{"evicted"}},
		{"the Job is being deleted", func(s *Snapshot) {
			s.InFlight.Creations = 1
			s.Job.DeletionTimestamp = &s.Job.CreationTimestamp
		}, Undone{}, false, []types.UID{"evicted", "running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := verdictSnapshot(t)
			test.change(&s)
			d := decideOn(t, s).Revise(test.done)
			var strip []types.UID
			for _, pod := range d.Strip {
				strip = append(strip, pod.UID)
			}
			slices.Sort(strip)
			Same(t, "pods that lose their finalizer", strip, test.strip)
			Same(t, "FailureTarget is in the status", lifecycle.True(d.made.status.Conditions, batchv1.JobFailureTarget) != nil, test.stored)
		})
	}
}

// verdictSnapshot returns an input with an evicted pod, which fails the Job, and a running one.
func verdictSnapshot(t *testing.T) Snapshot {
	job := specJob(t, `
completions: 3
parallelism: 2
podFailurePolicy:
  rules:
  - action: FailJob
    onPodConditions: [{type: DisruptionTarget, status: "True"}]`)
	evicted := verdictPod(job, "evicted", corev1.PodFailed)
	evicted.DeletionTimestamp = &job.CreationTimestamp
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	return Snapshot{
		Job: job, Now: job.CreationTimestamp.Time,
		Pods: []*corev1.Pod{evicted, verdictPod(job, "running", corev1.PodRunning)},
	}
}

func verdictPod(job *batchv1.Job, uid types.UID, phase corev1.PodPhase) *corev1.Pod {
	pod := podIn(job, 1, phase)
	pod.Name, pod.UID = string(uid), uid
	return pod
}

// A pod that is kept for its verdict is added to the backoff record once, when it is
// counted, and not at each sync before.
func TestVerdict_addsToTheBackoffOnce(t *testing.T) {
	s := verdictSnapshot(t)
	s.InFlight.Creations = 1
	for sync := range 3 {
		d := decideOn(t, s)
		if d.Backoff.Failures != 0 {
			t.Fatalf("sync %d: the backoff record has %d failures before the pod is counted", sync, d.Backoff.Failures)
		}
		s.Backoff = d.Backoff
	}
	s.InFlight.Creations = 0
	Same(t, "failures in the backoff record once the pod is counted", decideOn(t, s).Backoff.Failures, 1)
}

// A Job that is being deleted keeps no pod for its verdict, so the backoff record counts
// the pod at once.
func TestVerdict_addsToTheBackoffWhenTheJobIsDeleted(t *testing.T) {
	s := verdictSnapshot(t)
	s.InFlight.Creations = 1
	s.Job.DeletionTimestamp = &s.Job.CreationTimestamp
	Same(t, "failures in the backoff record", decideOn(t, s).Backoff.Failures, 1)
}
