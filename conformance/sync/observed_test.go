package sync

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/conformance/real"
)

// A pod that the controller has created is first observed while it is being deleted. To the real
// controller it is not the pod that it waits for, so it creates no other one. jobfate replaces the pod.
func TestDivergence_creationFirstObservedWhileItIsDeleted(t *testing.T) {
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(0)), new(int64(0)) }
	for _, test := range []struct {
		name   string
		change []func(*corev1.Pod)
		waits  int
	}{{"as it was created", nil, 1}, {"being deleted", []func(*corev1.Pod){deleted}, 2}} {
		c := newTrial(size(2, 2), pod("a", corev1.PodPending, test.change...))
		in := c.input()
		in.Memory.Creations = 2
		if got := real.CreationsLeft(in, c.snapshot.Pods[0]); got != test.waits {
			t.Errorf("%s: the real controller waits for %d of 2 creations, want %d", test.name, got, test.waits)
		}
	}

	later := func(c *trial) { c.snapshot.Now = c.snapshot.Now.Add(time.Minute) } // the backoff is over
	c := newTrial(size(1, 1), pod("a", corev1.PodPending, deleted), later)
	in := c.input()
	in.Memory.Creations = 1
	if created := real.Sync(in).Created(); len(created) != 0 {
		t.Errorf("while it waits, the real controller creates %d pods, want none", len(created))
	}
	if n := len(mustDecide(t, c).out.Creations); n != 1 { // the pod is observed
		t.Errorf("jobfate creates %d pods, want 1", n)
	}
}
