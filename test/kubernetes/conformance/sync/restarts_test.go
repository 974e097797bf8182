package sync

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// KEP-5307 and KEP-5532 restart containers in place. Neither Kubernetes nor jobfate reads the rules: with
// the restart policy Never restarts do not count and do not delay the finish time of a pod that fails
// later; with OnFailure each restart of each container counts.
func TestRestartsInPlace(t *testing.T) {
	limit := onJob(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(3)) })
	onFailure := onJob(func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
	// restarted has two containers, each restarted n times. Their earlier runs have ended at noon.
	restarted := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			earlier := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: at(0)}}
			for _, name := range []string{"main", "helper"} {
				s := corev1.ContainerStatus{Name: name, RestartCount: n, LastTerminationState: earlier}
				if p.Status.Phase == corev1.PodFailed {
					s.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: at(-8)}
				}
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
			}
			// The condition of KEP-5532 while all containers restart.
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: "AllContainersRestarting", Status: corev1.ConditionTrue})
		}
	}
	clean := func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }
	for _, c := range []struct {
		name  string
		trial *trial
		want  string // a part of the outcome
	}{
		{"Never, running", newTrial(size(1, 1), limit, pod("a", corev1.PodRunning, restarted(50))), "active=1 ready=0 terminating=0 succeeded=0 failed=0 start=-60s"},
		{"Never, failed: 2 s are left of the delay", newTrial(size(1, 1), limit, pod("a", corev1.PodFailed, clean, restarted(50))), "requeue after 2s"},
		{"OnFailure, 2 restarts", newTrial(size(1, 1), limit, onFailure, pod("a", corev1.PodRunning, restarted(1))), "active=1 ready=0 terminating=0 succeeded=0 failed=0 start=-60s"},
		{"OnFailure, 4 restarts", newTrial(size(1, 1), limit, onFailure, pod("a", corev1.PodRunning, restarted(2))), "FailureTarget=True"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := formatOutcome(c.trial, sameOnBothSides(t, c.trial)); !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant in it: %s", got, c.want)
			}
		})
	}
}
