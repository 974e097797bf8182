package cluster_test

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/slowpath"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newCaller returns a caller whose Machine panics if it decides differently from [decide.Job].
func newCaller() *cluster.Caller {
	c := cluster.NewCaller()
	slowpath.Check(c.Machine)
	return c
}

func newCluster(t *testing.T, completions int32) *cluster.Cluster {
	t.Helper()
	job := jobNamed("default", "job")
	job.Spec.Completions = &completions
	c, err := cluster.New(job, noon)
	must(t, err)
	return c
}

// A cache that goes back in time claims to be complete up to no later version than it shows, and
// can catch up.
func TestNewCacheAt_catchesUp(t *testing.T) {
	c := newCluster(t, 1)
	c.History = 20
	live, caller := c.NewCache(true), newCaller()
	c.Run(caller, live)
	uid := c.Pods()[0].UID
	c.End(uid, 0)
	c.Run(caller, live)
	for back := range 10 {
		cache := c.NewCacheAt(back, back)
		if upto := cache.Upto(); upto < c.Version()-back {
			t.Errorf("%d changes back: the cache shows only %d of %d", back, upto, c.Version())
		}
		if pods := cache.View().Pods; cache.Upto() == c.Version() && !slices.Equal(pods, c.Pods()) {
			t.Errorf("%d changes back: the cache claims to show all changes, but shows old pods", back)
		}
		for _, lag := cache.Lagging(); lag > 0; _, lag = cache.Lagging() {
			cache.ShowJob()
		}
		cache.ShowPods()
		if got, want := cache.Upto(), c.Version(); got != want {
			t.Errorf("%d changes back: in the end the cache shows %d changes, want %d", back, got, want)
		}
	}
}

// A merge patch replaces the fields that it names, removes those that are null, and keeps
// the rest.
func TestPatchStatus(t *testing.T) {
	job := &batchv1.Job{Status: batchv1.JobStatus{
		Active: 2, Ready: new(int32(1)), Terminating: new(int32(1)),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: nil, Succeeded: nil},
	}}
	stored := newCluster(t, 3).Job()
	job.ObjectMeta, job.Spec = *stored.ObjectMeta.DeepCopy(), *stored.Spec.DeepCopy()
	before := job.DeepCopy()
	got, err := cluster.PatchStatus(job, []byte(`{"status":{"active":null,"ready":0,"startTime":"2026-01-01T12:00:00Z",`+
		`"uncountedTerminatedPods":{"failed":["a"]},"conditions":[{"type":"X","status":"True"}]}}`))
	must(t, err)
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the Job has changed:\n%s", diff)
	}
	st := got.Status
	if st.Active != 0 || *st.Ready != 0 || *st.Terminating != 1 || len(st.UncountedTerminatedPods.Failed) != 1 || len(st.Conditions) != 1 || st.StartTime == nil {
		t.Errorf("the status is %+v", st)
	}
	if _, err := cluster.PatchStatus(job, []byte(`{"status":{"active":"x"}}`)); !apierrors.IsBadRequest(err) {
		t.Errorf("a string for a number: got %v, want a bad request", err)
	}
	if _, err := cluster.PatchStatus(job, []byte(`{"metadata":{"resourceVersion":"99"},"status":{}}`)); !apierrors.IsConflict(err) {
		t.Errorf("another version: got %v, want a conflict", err)
	}
}

// An orphan that is removed before its adoption is not counted, even while the cache still
// shows it. (Found by chaos.)
func TestCaller_removedOrphanIsNotCounted(t *testing.T) {
	c := newCluster(t, 3)
	cache, caller := c.NewCache(false), newCaller()
	c.Run(caller, cache)
	cache.ShowAll()
	uid := c.Pods()[0].UID
	c.End(uid, 0)
	c.Edit(uid, func(p *corev1.Pod) { p.OwnerReferences, p.Finalizers = nil, nil })
	cache.ShowAll()
	c.Delete(uid, 0)
	for range 3 {
		c.Run(caller, cache)
	}
	st := c.Job().Status
	if n := st.Succeeded + int32(len(st.UncountedTerminatedPods.Succeeded)); n != 0 {
		t.Errorf("the orphan is counted %d times", n)
	}
}

// A process that starts with a stale cache does not add the finalizer to a counted pod again: it
// reads the pods. Nor does one that has read them before another counts the pod: its patch is
// refused. (Found by chaos.)
func TestCaller_noAdoptionOnAStaleView(t *testing.T) {
	for _, counted := range []string{"before the read", "after the read"} {
		c := newCluster(t, 3)
		live, caller := c.NewCache(true), newCaller()
		c.Run(caller, live)
		uid := c.Pods()[0].UID
		c.End(uid, 0)
		c.Edit(uid, func(p *corev1.Pod) { p.OwnerReferences = nil })
		old := c.NewCache(false)
		count := func() {
			c.Run(caller, live)
			if got := len(c.Pod(uid).Finalizers); got != 0 {
				t.Fatalf("the pod has %d finalizers after it was counted, want none", got)
			}
		}
		if counted == "before the read" {
			count()
		} else {
			c.Intercept = func(q *cluster.Request) cluster.Fault {
				if q.Verb == cluster.Patch {
					c.Intercept = nil
					count()
				}
				return cluster.Fault{}
			}
		}
		out := c.Run(newCaller(), old)
		if len(c.Pod(uid).Finalizers) != 0 || apierrors.IsConflict(out.Err) != (counted == "after the read") {
			t.Errorf("counted %s: %v, finalizers %v; want none", counted, out.Err, c.Pod(uid).Finalizers)
		}
	}
}

// A pod that is adopted and surplus is deleted in the same sync: the patch that removes its
// finalizer names the version that the adoption has stored. If the pod ends after its adoption, the
// patch is refused, and the pod is counted.
func TestCaller_adoptedPodIsDeletedAtOnce(t *testing.T) {
	for _, ends := range []bool{false, true} {
		c := newCluster(t, 3)
		cache, caller := c.NewCache(true), newCaller()
		c.Run(caller, cache)
		uid := c.Pods()[0].UID
		c.Start(uid)
		c.Edit(uid, func(p *corev1.Pod) { p.OwnerReferences = nil })
		must(t, c.EditJob(func(spec *batchv1.JobSpec) { spec.Suspend = new(true) }))
		patches := 0
		c.Intercept = func(q *cluster.Request) cluster.Fault {
			if q.Verb == cluster.Patch {
				if patches++; patches == 2 && ends {
					c.End(uid, 0)
				}
			}
			return cluster.Fault{}
		}
		out := c.Run(caller, cache)
		if pod := c.Pod(uid); ends != apierrors.IsConflict(out.Err) || ends == (pod.DeletionTimestamp != nil) {
			t.Errorf("the pod ends: %t: error %v, deleted at %v", ends, out.Err, pod.DeletionTimestamp)
		}
		for range 3 {
			c.Run(caller, cache)
		}
		if st, want := c.Job().Status, map[bool]int32{true: 1}[ends]; st.Succeeded != want || st.Failed != 0 {
			t.Errorf("the pod ends: %t: %d succeeded, %d failed, want %d and none", ends, st.Succeeded, st.Failed, want)
		}
	}
}
