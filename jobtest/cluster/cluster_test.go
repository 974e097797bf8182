package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/bugs"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/slowpath"
)

// newCaller returns a caller whose Machine panics if it decides differently from [decide.Job].
func newCaller() *cluster.Caller {
	c := cluster.NewCaller()
	slowpath.Check(c.Machine, 1)
	return c
}

// A cache that goes back in time claims to be complete up to no later version than it shows, and
// can catch up.
func TestNewCacheAt_catchesUp(t *testing.T) {
	c, live := newStage(t, 1)
	c.History = 20
	caller := newCaller()
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
		Same(t, fmt.Sprintf("%d changes back: the changes that the cache shows in the end", back), cache.Upto(), c.Version())
	}
}

// A merge patch replaces the fields that it names, removes those that are null, and keeps
// the rest.
func TestPatchStatus(t *testing.T) {
	job := &batchv1.Job{Status: batchv1.JobStatus{
		Active: 2, Ready: new(int32(1)), Terminating: new(int32(1)),
		UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: nil, Succeeded: nil},
	}}
	c, _ := newStage(t, 3)
	job.ObjectMeta, job.Spec = *c.Job().ObjectMeta.DeepCopy(), *c.Job().Spec.DeepCopy()
	before := job.DeepCopy()
	got, err := cluster.PatchStatus(job, []byte(`{"status":{"active":null,"ready":0,"startTime":"2026-01-01T12:00:00Z",`+
		`"uncountedTerminatedPods":{"failed":["a"]},"conditions":[{"type":"X","status":"True"}]}}`))
	NoError(t, err)
	Same(t, "the Job after the patch of its copy", job, before)
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

// A new pod has no deletion timestamp. A pod that gets one by an edit, without a grace
// period, has a grace period of zero.
func TestDeletionWithoutGrace(t *testing.T) {
	at := metav1.NewTime(Noon())
	dying := func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, nil }
	c, _ := newStage(t, 1)
	sent := named("a")
	dying(sent)
	sent.DeletionGracePeriodSeconds = new(int64(30))
	uid := c.Add(sent).UID
	if pod := c.Pod(uid); pod.DeletionTimestamp != nil || pod.DeletionGracePeriodSeconds != nil {
		t.Errorf("the new pod is deleted at %v with a grace of %v, want neither", pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds)
	}
	c.Edit(uid, dying)
	c.Delete(uid, 0)
	c.Delete(uid, 30)
	if pod := c.Pod(uid); pod == nil || pod.DeletionTimestamp == nil || !slices.Contains(pod.Finalizers, "example.com/held") {
		t.Errorf("got %v, want a pod that is being deleted and has a finalizer", pod)
	}
	c.Edit(uid, func(p *corev1.Pod) { p.Finalizers = nil })
	Same(t, "the pod, which has no finalizer any more", c.Pod(uid), nil)
	b := c.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}}).UID
	c.Edit(b, dying)
	Same(t, "the pod, which never had a finalizer", c.Pod(b), nil)
}

// "A sequence number representing a specific generation of the desired state." (ObjectMeta.generation)
// The API server raises it when the spec changes, and when a deletion begins.
func TestGeneration(t *testing.T) {
	c, _ := newStage(t, 1)
	Same(t, "generation: a new Job", c.Job().Generation, 1)
	suspend := func(spec *batchv1.JobSpec) { spec.Suspend = new(true) }
	NoError(t, c.EditJob(suspend))
	Same(t, "generation: another spec", c.Job().Generation, 2)
	NoError(t, c.EditJob(suspend))
	Same(t, "generation: the same spec", c.Job().Generation, 2)
	version := c.Job().ResourceVersion
	c.SetStatus(batchv1.JobStatus{Failed: -1}) // valid or not
	Same(t, "generation: another status", c.Job().Generation, 2)
	if job := c.Job(); job.Status.Failed != -1 || job.ResourceVersion == version {
		t.Errorf("failed is %d at version %s, want -1 at another than %s", job.Status.Failed, job.ResourceVersion, version)
	}
	c.DeleteJob(metav1.DeletePropagationForeground)
	Same(t, "generation: a deletion", c.Job().Generation, 3)
	c.DeleteJob(metav1.DeletePropagationForeground)
	Same(t, "generation: another deletion", c.Job().Generation, 3)
}

func named(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/held"}}}
}

// Neither a controller nor a user can create a pod whose name is in use, and the existing
// pod stays unchanged. A name that becomes free can be used again.
func TestAlreadyExists(t *testing.T) {
	c, cache := newStage(t, 1)
	creates := func(name string) error {
		return c.Run(bugs.Func(func(client *cluster.Client) (time.Duration, error) {
			_, err := client.CreatePod(named(name))
			return 0, err
		}), cache).Err
	}
	NoError(t, creates("a"))
	if err := creates("a"); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second pod with this name: got %v, want AlreadyExists", err)
	}
	if pod := c.Add(named("a")); pod != nil || len(c.Pods()) != 1 {
		t.Errorf("Add returns %v, and there are %d pods; want none and 1", pod, len(c.Pods()))
	}
	first := c.Pods()[0]
	out := c.Run(bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		_, err := client.PatchPod(first, []byte(`{"metadata":{"uid":"`+string(first.UID)+`","$deleteFromPrimitiveList/finalizers":["example.com/held"]}}`))
		return 0, err
	}), cache)
	if out.Err != nil || len(c.Pods()[0].Finalizers) != 0 {
		t.Errorf("patching the pod by name: got %v, finalizers %v; want none", out.Err, c.Pods()[0].Finalizers)
	}
	c.Vanish(first.UID)
	if err := creates("a"); err != nil || len(c.Pods()) != 1 || c.Pods()[0].UID == first.UID {
		t.Errorf("the name is free again: got %v and %d pods, want one with another UID", err, len(c.Pods()))
	}
}

// If an edit gives a pod the name of another pod, the name survives the removal of the
// other pod.
func TestNameTakenOverByAnEdit(t *testing.T) {
	c, cache := newStage(t, 1)
	a, b := c.Add(named("a")), c.Add(named("b"))
	c.Edit(b.UID, func(p *corev1.Pod) { p.Name = "a" })
	c.Vanish(a.UID)
	out := c.Run(bugs.Func(func(client *cluster.Client) (time.Duration, error) {
		return 0, client.DeletePod(c.Pod(b.UID), metav1.DeleteOptions{})
	}), cache)
	if out.Err != nil || c.Pod(b.UID).DeletionTimestamp == nil {
		t.Errorf("got %v, and the pod is not being deleted", out.Err)
	}
}
