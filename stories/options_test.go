package stories

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/jobtest"
)

// With the option OwnerKind, a caller runs custom resources as Jobs.
func TestOptions_ownerKind(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"}
	w := newWorld(t, "completions: 1", jobfate.OwnerKind(kind))
	w.rules.Owner = kind.GroupKind()
	w.settle()
	if ref := w.Pods()[0].OwnerReferences[0]; ref.APIVersion != "example.com/v1" || ref.Kind != "Simulation" || ref.UID != w.Job().UID {
		t.Errorf("the pod's owner is %+v", ref)
	}
	w.End("pod-1", 0)
	w.settle()
	if w.Job().Status.Succeeded != 1 {
		t.Errorf("%d succeeded, want 1", w.Job().Status.Succeeded)
	}
}

// The caps limit the UIDs in the lists, the created pods and the deleted surplus pods.
func TestOptions_caps(t *testing.T) {
	for _, test := range []struct {
		uncounted, changes           int
		wantUncounted, wantedChanges int
	}{{3, 2, 3, 2}, {0, 0, 12, 12}, {1, 100, 1, 12}} {
		w := newWorld(t, "completions: 12\nparallelism: 12", jobfate.MaxUncounted(test.uncounted), jobfate.MaxChanges(test.changes))
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Create) != test.wantedChanges {
			t.Errorf("%+v: %d to create", test, len(d.Create))
		}
		w.runAll()
		w.edit("parallelism: 0")
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Delete) != test.wantedChanges {
			t.Errorf("%+v: %d to delete", test, len(d.Delete))
		}
		// All pods of a suspended Job are deleted at once, as in the Job controller.
		w.edit("suspend: true")
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Delete) != 12 {
			t.Errorf("%+v: %d to delete for suspension, want 12", test, len(d.Delete))
		}
		for _, pod := range w.alive() {
			w.End(pod.UID, 0)
		}
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Status.UncountedTerminatedPods.Succeeded) != test.wantUncounted || len(d.Strip) != test.wantUncounted {
			t.Errorf("%+v: %d recorded, %d to strip", test, len(d.Status.UncountedTerminatedPods.Succeeded), len(d.Strip))
		}
	}
}

// The decision and its explanation show the work beyond a cap, and the next sync is due after
// the batch period.
func TestOptions_workLeft(t *testing.T) {
	caps := []jobfate.Option{jobfate.MaxUncounted(10), jobfate.MaxChanges(4), jobfate.BatchPeriod(3 * time.Second)}
	w := newWorld(t, "completions: 12\nparallelism: 12", caps...)
	expect := func(what string, want jobfate.Deferred, text string, requeue time.Duration) {
		t.Helper()
		d := mustDecide(t, w.snapshot(), w.opts...)
		if d.Deferred != want || d.Requeue != requeue || !strings.HasSuffix(explain.Of(d).Job().Text, text) {
			t.Errorf("%s: left %+v, requeue %s, %q; want %+v, %s, a text that ends with %q",
				what, d.Deferred, d.Requeue, explain.Of(d).Job().Text, want, requeue, text)
		}
	}
	const soon = 3 * time.Second
	expect("12 are missing", jobfate.Deferred{Create: 8}, "; 8 more pods to create", soon)
	w.sync()
	expect("8 are missing", jobfate.Deferred{Create: 4}, "; 4 more pods to create", soon)
	w.sync()
	expect("4 are missing", jobfate.Deferred{}, "creating 4 pods", 0)
	w.runAll()
	w.edit("parallelism: 7")
	expect("5 are too many", jobfate.Deferred{Delete: 1}, "; 1 more pod to delete", soon)
	w.edit("parallelism: 8")
	expect("4 are too many", jobfate.Deferred{}, "deleting 4 of 12 active pods, because the Job needs fewer", 0)
	w.edit("parallelism: 12")
	pods := w.alive()
	for _, pod := range pods[:10] {
		w.End(pod.UID, 0)
	}
	expect("10 have ended", jobfate.Deferred{}, "2 pods active, parallelism 12, 10 of 12 succeeded", 0)
	w.End(pods[10].UID, 0)
	expect("11 have ended", jobfate.Deferred{Strip: 1}, "; 1 more finalizer to remove", soon)
	w.End(pods[11].UID, 0)
	expect("12 have ended", jobfate.Deferred{Strip: 2}, "; 2 more finalizers to remove", soon)
	w.opts = []jobfate.Option{jobfate.MaxUncounted(12), jobfate.BatchPeriod(soon)}
	expect("all are counted, and the end is left", jobfate.Deferred{}, "Reached expected number of succeeded pods", soon)
}

// In an Indexed Job, Deferred.Create counts only indexes that can run. Failed indexes get no pod.
func TestOptions_workLeftOfIndexes(t *testing.T) {
	job := specJob(t, "completions: 10\nparallelism: 10\ncompletionMode: Indexed\nbackoffLimitPerIndex: 0")
	failed := "0,2-4"
	job.Status.FailedIndexes = &failed
	d := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()}, jobfate.MaxChanges(5))
	if len(d.Create) != 5 || d.Deferred != (jobfate.Deferred{Create: 1}) {
		t.Errorf("%d to create, left %+v; want 5 of 6", len(d.Create), d.Deferred)
	}
}

// A sync removes at most MaxRemovals finalizers, whether the pods have ended, the Job has
// ended, or the Job is being deleted. In the end all pods are counted, and the Job does not
// end before that.
func TestOptions_maxRemovals(t *testing.T) {
	const most = 2
	held := func(w *world) bool { return slices.ContainsFunc(w.Pods(), builtin.HasFinalizer) }
	syncs := func(w *world) (n int) {
		t.Helper()
		for ; held(w); n++ {
			if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Strip) > most || d.Deferred.Strip > 0 && d.Requeue != time.Second {
				t.Fatalf("%d to strip, left %+v, requeue %s; want %d at most, and the rest a second later", len(d.Strip), d.Deferred, d.Requeue, most)
			}
			if w.sync(); n > 10 {
				t.Fatal("some finalizers are never removed")
			}
		}
		return n
	}
	ended := newWorld(t, "completions: 5\nparallelism: 5", jobfate.MaxRemovals(most))
	ended.sync()
	for _, pod := range ended.alive() {
		ended.End(pod.UID, 0)
	}
	if n := syncs(ended); n != 3 || ended.Job().Status.Succeeded != 5 || ended.Job().Status.CompletionTime == nil {
		t.Errorf("5 pods have succeeded: %d syncs, status %+v; want 3 syncs, and the Job complete", n, ended.Job().Status)
	}

	deleted := newWorld(t, "completions: 5\nparallelism: 5", jobfate.MaxRemovals(most))
	deleted.sync()
	deleted.DeleteJob(metav1.DeletePropagationForeground)
	if n := syncs(deleted); n != 3 {
		t.Errorf("a Job that is deleted: %d syncs, want 3", n)
	}

	job := specJob(t, "completions: 5")
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	pods := []*corev1.Pod{podIn(job, 1, corev1.PodFailed), podIn(job, 2, corev1.PodFailed), podIn(job, 3, corev1.PodRunning)}
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: pods, Now: jobtest.Noon()}, jobfate.MaxRemovals(most))
	if text := explain.Of(d).Job().Text; len(d.Strip) != most || d.Deferred.Strip != 1 || d.Requeue != time.Second || !strings.HasSuffix(text, "; 1 more finalizer to remove") {
		t.Errorf("a Job that has ended: %d to strip, left %+v, requeue %s, %q", len(d.Strip), d.Deferred, d.Requeue, text)
	}
}
