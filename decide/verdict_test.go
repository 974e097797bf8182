package decide

import (
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
)

// A FailJob verdict is stored before the pod that shows it loses its finalizer.
// Kubernetes 1.37 loses the verdict when the end of the Job has to wait: kept-verdict
// in docs/divergences.md.
func TestVerdict_isStoredBeforeItsPodGoes(t *testing.T) {
	none := func(*scene) {}
	for _, test := range []struct {
		name   string
		change func(*scene)
		done   Undone
		stored bool // the verdict is in the status
		strip  []types.UID
	}{
		{"the Job can end at once", none, Undone{}, true, []types.UID{"evicted", "running"}},
		{"a creation is unobserved", func(s *scene) { s.InFlight.Creations = 1 }, Undone{}, false, nil},
		{"a deletion is unobserved", func(s *scene) { s.InFlight.Deletions = 1 }, Undone{}, false, nil},
		{"a deletion fails", none, Undone{Deletions: []types.UID{"running"}}, false, nil},
		{"another pod is counted nevertheless", func(s *scene) {
			s.InFlight.Creations = 1
			s.pod("done", 1, corev1.PodSucceeded, 0)
		}, Undone{}, false, []types.UID{"done"}},
		{"the pod is in an uncounted list", func(s *scene) {
			s.InFlight.Creations = 1
			s.Job.Status.UncountedTerminatedPods = Lists(nil, UIDs("evicted"))
		}, Undone{}, false, nil},
		{"the status has the verdict", func(s *scene) {
			s.InFlight.Creations = 1
			s.condition(batchv1.JobFailureTarget)
		}, Undone{}, true, []types.UID{"evicted"}},
		{"the Job is being deleted", func(s *scene) {
			s.InFlight.Creations = 1
			s.Job.DeletionTimestamp = &s.Job.CreationTimestamp
		}, Undone{}, false, []types.UID{"evicted", "running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := verdictScene(t)
			test.change(s)
			d := s.outcome(t).Revise(test.done)
			strip := UIDsOf(d.Strip)
			slices.Sort(strip)
			Same(t, "pods that lose their finalizer", strip, test.strip)
			Same(t, "FailureTarget is in the status", jobstatus.True(d.made.status.Conditions, batchv1.JobFailureTarget) != nil, test.stored)
		})
	}
}

// verdictScene is a scene with an evicted pod, which fails the Job, and a running one. No failure is remembered.
func verdictScene(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, `
completions: 3
parallelism: 2
podFailurePolicy:
  rules:
  - action: FailJob
    onPodConditions: [{type: DisruptionTarget, status: "True"}]`)
	s.Backoff = backoff.Record{}
	evicted := s.pod("evicted", 1, corev1.PodFailed, 0, s.deletedAt(0))
	evicted.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	s.pod("running", 1, corev1.PodRunning, 0)
	return s
}

// A pod that is kept for its verdict is added to the backoff record once, when it is
// counted, and not at each sync before.
func TestVerdict_addsToTheBackoffOnce(t *testing.T) {
	s := verdictScene(t)
	s.InFlight.Creations = 1
	for sync := range 3 {
		d := s.outcome(t)
		Same(t, fmt.Sprintf("sync %d: failures in the record before the pod is counted", sync), d.Backoff.Failures, 0)
		s.Backoff = d.Backoff
	}
	s.InFlight.Creations = 0
	Same(t, "failures in the backoff record once the pod is counted", s.outcome(t).Backoff.Failures, 1)
}

// A Job that is being deleted keeps no pod for its verdict, so the backoff record counts
// the pod at once.
func TestVerdict_addsToTheBackoffWhenTheJobIsDeleted(t *testing.T) {
	s := verdictScene(t)
	s.InFlight.Creations = 1
	s.Job.DeletionTimestamp = &s.Job.CreationTimestamp
	Same(t, "failures in the backoff record", s.outcome(t).Backoff.Failures, 1)
}

// The status that stores the verdict first has no duplicate UIDs, which the API server would reject.
func TestVerdict_firstStatusHasNoDuplicates(t *testing.T) {
	s := verdictScene(t)
	s.Job.Status.UncountedTerminatedPods = Lists(nil, UIDs("counted", "counted"))
	first, _ := s.outcome(t).VerdictFirst()
	Same(t, "uncounted pods", first.Status.UncountedTerminatedPods.Failed, UIDs("counted"))
}

// Callers of Decide store the verdict first in the same way.
func TestVerdictFirst(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*scene)
		deletions int // to carry out
		stored    bool
		again     bool
	}{
		"the verdict is not stored":  {func(*scene) {}, 0, true, true},
		"a creation is unobserved":   {func(s *scene) { s.InFlight.Creations = 1 }, 0, false, false},
		"the verdict is stored":      {func(s *scene) { s.condition(batchv1.JobFailureTarget) }, 1, true, false},
		"nothing is to be deleted":   {func(s *scene) { s.Pods = s.Pods[:1] }, 0, true, false},
		"the Job does not end":       {func(s *scene) { s.Pods = s.Pods[1:] }, 0, false, false},
		"the Job ended, one is left": {func(s *scene) { s.condition(batchv1.JobFailed) }, 0, false, false},
	} {
		s := verdictScene(t)
		test.change(s)
		d := s.outcome(t)
		first, again := d.VerdictFirst()
		Same(t, name+": deletions", len(first.Delete), test.deletions)
		stored := first.Status != nil && jobstatus.True(first.Status.Conditions, batchv1.JobFailureTarget) != nil
		Same(t, name+": the verdict is in the status", stored, test.stored)
		Same(t, name+": decide again", again, test.again)
		if second, again := first.VerdictFirst(); again || len(second.Delete) != len(first.Delete) {
			t.Errorf("%s: a second call deletes %d pods, again %t", name, len(second.Delete), again)
		}
		Same(t, name+": Revise deletes", len(first.Revise(Undone{}).Delete), len(first.Delete))
	}
}
