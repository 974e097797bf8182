package sync

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
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

// The last pod of a Job that fails was deleted for that, and the cache shows neither its creation nor its deletion. The
// real controller ends the Job. jobfate does once it has observed the deletion.
func TestDivergence_deletionForTheEndIsNotObserved(t *testing.T) {
	failing := conditions(batchv1.JobFailureTarget, corev1.ConditionTrue)
	c := newTrial(size(1, 1), failing, onJob(func(j *batchv1.Job) { j.Status.Terminating = new(int32(1)) }), func(c *trial) {
		c.snapshot.InFlight.Pods = []decide.PodInFlight{{UID: "unseen", Deleted: true}}
	})
	us, them := mustDecide(t, c), newRun(c)
	if !them.outcome.Finished || us.out.Finished {
		t.Errorf("the real controller ends the Job: %v, want true; jobfate: %v, want false", them.outcome.Finished, us.out.Finished)
	}
	names, diff := explain(us, them)
	if want := []string{"in-flight-end", "unobserved-counts"}; !slices.Equal(names, want) {
		t.Errorf("explained by %v, want %v; left of the difference:\n%s", names, want, diff)
	}
	if o := sameOnBothSides(t, newTrial(size(1, 1), failing)); !o.Finished {
		t.Error("once the deletion is observed, the Job does not end")
	}
}

// The cache still shows a ready pod that was deleted. The real controller counts it as ready, jobfate as terminating.
func TestDivergence_deletionOfACachedPodIsNotObserved(t *testing.T) {
	c := newTrial(size(0, 1), pod("a", corev1.PodRunning, isReady), func(c *trial) {
		c.snapshot.InFlight.Deletions = 1
		c.snapshot.InFlight.Pods = []decide.PodInFlight{{UID: "a", Deleted: true}}
	})
	us, them := mustDecide(t, c), newRun(c)
	if got, want := formatOutcome(c, them.outcome), "status active=1 ready=1 terminating=0 "; !strings.HasPrefix(got, want) {
		t.Errorf("the real controller: got\n%s\nwant %s", got, want)
	}
	if got, want := formatOutcome(c, us.out), "status active=0 ready=0 terminating=1 "; !strings.HasPrefix(got, want) {
		t.Errorf("jobfate: got\n%s\nwant %s", got, want)
	}
	if names, diff := explain(us, them); !slices.Equal(names, []string{"unobserved-counts"}) {
		t.Errorf("explained by %v, want unobserved-counts; left of the difference:\n%s", names, diff)
	}
}
