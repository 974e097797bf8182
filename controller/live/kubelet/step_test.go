package kubelet

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNext(t *testing.T) {
	with := func(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	deleted := func(grace int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{}, &grace }
	}
	tracked := func(p *corev1.Pod) { p.Finalizers = []string{batchv1.JobTrackingFinalizer} }
	gated := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}} }
	slow := Life{Pending: 1, Running: 2, Stopping: 3}
	for name, test := range map[string]struct {
		pod   *corev1.Pod
		life  Life
		want  step
		after time.Duration
	}{
		"new":                            {with(corev1.PodPending, unbound), slow, bind, 0},
		"new with a scheduling gate":     {with(corev1.PodPending, unbound, gated), slow, rest, 0},
		"new and direct":                 {with(corev1.PodPending, unbound), Life{Direct: true, Pending: 1, Running: 2}, end, 3},
		"new, direct, runs forever":      {with(corev1.PodPending, unbound), Life{Direct: true, Forever: true}, run, 0},
		"bound":                          {with(corev1.PodPending), slow, run, 1},
		"stuck, not bound":               {with(corev1.PodPending, unbound), Wait(), bind, 0},
		"stuck":                          {with(corev1.PodPending), Wait(), rest, 0},
		"running":                        {with(corev1.PodRunning), slow, end, 2},
		"running forever":                {with(corev1.PodRunning), Run(), rest, 0},
		"succeeded":                      {with(corev1.PodSucceeded), slow, rest, 0},
		"failed":                         {with(corev1.PodFailed), slow, rest, 0},
		"running, deleted":               {with(corev1.PodRunning, deleted(30)), slow, stop, 3},
		"running forever, deleted":       {with(corev1.PodRunning, deleted(30)), Run(), stop, 0},
		"pending, bound, deleted":        {with(corev1.PodPending, deleted(30)), slow, stop, 3},
		"unknown to kubelets, deleted":   {with(corev1.PodPending, unbound, tracked, deleted(0)), slow, rest, 0},
		"running, not bound, deleted":    {with(corev1.PodRunning, unbound, tracked, deleted(0)), slow, stop, 3},
		"ignores its deletion":           {with(corev1.PodRunning, deleted(30)), Run().NeverDying(), rest, 0},
		"has ended after it was deleted": {with(corev1.PodFailed, deleted(30)), slow, remove, 0},
		"ended, deleted at once":         {with(corev1.PodFailed, tracked, deleted(0)), slow, rest, 0},
		// The server was stopped between the two writes of a deletion without grace period.
		"half deleted, ended":       {with(corev1.PodFailed, deleted(0)), slow, remove, recovery},
		"half deleted, on no node":  {with(corev1.PodPending, unbound, deleted(0)), slow, remove, recovery},
		"half deleted, never dying": {with(corev1.PodRunning, deleted(0)), Run().NeverDying(), remove, recovery},
	} {
		t.Run(name, func(t *testing.T) {
			if got, after := next(test.pod, test.life); got != test.want || after != test.after {
				t.Errorf("got step %d after %d, want step %d after %d", got, after, test.want, test.after)
			}
		})
	}
}
