package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
)

var theJob = request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "job"}}

func (b *bench) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	result, err := b.Reconcile(t.Context(), theJob)
	if err != nil {
		t.Fatalf("Reconcile: %v; the queue would go by its own delay", err)
	}
	return result
}

// A new Job: its pods are created, then the status is stored, with no read at
// all.
func TestNewJob(t *testing.T) {
	job := newJob()
	b := newBench(t, job)
	b.show(t, job)
	b.reconcile(t)
	wantList(t, "writes", b.writes(), []string{"create pods", "patch jobs/status"})
	if b.reads() != 0 {
		t.Errorf("read past the cache %d times, want never", b.reads())
	}
	// The cache shows neither the pod nor the status: nothing is done again.
	b.server.ClearActions()
	if again := b.reconcile(t).RequeueAfter; again != time.Second {
		t.Errorf("looks again in %v, want 1s", again)
	}
	wantList(t, "writes of the second turn", b.writes(), nil)
}

// A pod is recorded before its finalizer goes, and counted once it is gone.
func TestCount(t *testing.T) {
	job := newJob(started)
	pod := newPod(job, "pod", "5", succeeded)
	b := newBench(t, job, pod)
	b.show(t, job, pod)
	b.reconcile(t)
	wantList(t, "writes", b.writes(), []string{"patch jobs/status", "patch pods", "patch jobs/status"})
	stored, err := b.server.BatchV1().Jobs("default").Get(t.Context(), "job", metav1.GetOptions{})
	if err != nil || stored.Status.Succeeded != 1 || stored.Status.CompletionTime == nil {
		t.Errorf("got %+v, %v, want a complete Job with one pod", stored.Status, err)
	}
	wantList(t, "events", b.told(), []string{"Normal Completed Job completed"})
}

// At the first look at a Job that another process has run, the Job and its pods
// are read past the cache, which still shows a pod that has been counted.
func TestFirstLook(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) {
		two, none := int32(2), int32(0)
		job.Spec.Completions, job.Spec.Parallelism = &two, &none
		job.Status.Succeeded = 1
	})
	counted := newPod(job, "pod", "7", succeeded, stripped)
	b := newBench(t, job, counted)
	b.show(t, job, newPod(job, "pod", "5", succeeded))
	b.reconcile(t)
	if m := b.memories.of(job); m.fresh {
		t.Error("the cache is taken to be fresh, though it shows an older pod")
	}
	for _, action := range b.server.Actions() {
		if action.Matches("patch", "pods") {
			t.Error("the pod has been counted again")
		}
	}
	stored, err := b.server.BatchV1().Jobs("default").Get(t.Context(), "job", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.show(t, counted, stored)
	b.server.ClearActions()
	b.reconcile(t)
	if m := b.memories.of(job); !m.fresh {
		t.Error("the caches show the Job and the pod as they are, and are not taken to be fresh")
	}
	b.server.ClearActions()
	b.reconcile(t)
	if b.reads() != 0 {
		t.Errorf("read past the cache %d times once it is fresh, want never", b.reads())
	}
}

// The cache shows a Job without a status that another process has run. That shows
// when the status is not stored, and then the Job and its pods are read past the
// cache, which still shows a pod that has been counted.
func TestFirstLookAtAnOldJob(t *testing.T) {
	two, none := int32(2), int32(0)
	old := newJob(func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = &two, &none })
	job := old.DeepCopy()
	job.ResourceVersion, job.Status.Succeeded = "20", 1
	started(job)
	b := newBench(t, job, newPod(job, "pod", "7", succeeded, stripped))
	b.fail("patch", "jobs", 1, false, apierrors.NewConflict(pods, "job", nil))
	b.show(t, old)
	b.reconcile(t)
	b.show(t, job, newPod(job, "pod", "5", succeeded))
	b.reconcile(t)
	stored, err := b.server.BatchV1().Jobs("default").Get(t.Context(), "job", metav1.GetOptions{})
	if err != nil || stored.Status.Succeeded != 1 || stored.Status.CompletionTime != nil {
		t.Errorf("got %+v, %v, want the pod counted once", stored.Status, err)
	}
}

// After the first look, too, no pod is created for a Job that the cache shows as it
// was before another process counted.
func TestSecondLookAtAnOldJob(t *testing.T) {
	two := int32(2)
	old := newJob(started, func(job *batchv1.Job) { job.Spec.Completions, job.Spec.Parallelism = &two, &two })
	job := old.DeepCopy()
	job.ResourceVersion, job.Status.Succeeded, job.Status.Active = "20", 1, 1
	pods := []runtime.Object{newPod(job, "done", "5", succeeded, stripped), newPod(job, "runs", "6")}
	b := newBench(t, append(pods, job)...)
	b.show(t, append(pods, old)...)
	b.reconcile(t)
	b.memories.of(job).stored = ""
	b.reconcile(t)
	if got := b.writes(); slices.Contains(got, "create pods") {
		t.Errorf("writes: got %q, want no pod created", got)
	}
}

// The selector that selects all is written as none.
func TestFirstLookSelectsAll(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) { job.Spec.Selector = &metav1.LabelSelector{} })
	b := newBench(t, job)
	b.server.PrependReactor("list", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if got := a.(ktesting.ListActionImpl).ListOptions.LabelSelector; got != "" {
			t.Errorf("lists the pods with %q, want all", got)
		}
		return false, nil, nil
	})
	if _, err := b.readLive(t.Context(), job); err != nil {
		t.Error(err)
	}
}

func TestShows(t *testing.T) {
	job := newJob()
	for name, tc := range map[string]struct {
		read, cached *corev1.Pod
		want         bool
	}{
		"nothing":                {nil, nil, true},
		"the same":               {newPod(job, "pod", "5"), newPod(job, "pod", "5"), true},
		"newer":                  {newPod(job, "pod", "5"), newPod(job, "pod", "6"), true},
		"older":                  {newPod(job, "pod", "6"), newPod(job, "pod", "5"), false},
		"not seen yet":           {newPod(job, "pod", "6"), nil, false},
		"gone":                   {nil, newPod(job, "pod", "5"), false},
		"made since":             {nil, newPod(job, "pod", "21"), true},
		"another of the name":    {newPod(job, "pod", "6"), newPod(job, "pod", "6", func(pod *corev1.Pod) { pod.UID = "earlier" }), false},
		"no more to be selected": {nil, newPod(job, "pod", "5", func(pod *corev1.Pod) { pod.Labels = nil }), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.show(t, job)
			read := live{job: job, version: "20"}
			if tc.read != nil {
				read.pods = append(read.pods, tc.read)
			}
			if tc.cached != nil {
				b.show(t, tc.cached)
			}
			if got := b.store.shows(read); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
	// The cache may still be to show a pod that was made, counted and removed.
	b := newBench(t)
	b.show(t, job)
	for seen, want := range map[string]bool{"9": false, "10": true, "11": true, "": true} {
		b.store.pods.Bookmark(seen)
		if got := b.store.shows(live{job: job, version: "20"}); got != want {
			t.Errorf("the cache of pods has seen version %q, the Job was written at 10: got %t, want %t", seen, got, want)
		}
	}
}

// A Job that cannot be decided is told so once, and asks for no further turn.
func TestBadInput(t *testing.T) {
	job := newJob(func(job *batchv1.Job) {
		mode := batchv1.CompletionMode("Unheard")
		job.Spec.CompletionMode = &mode
	})
	b := newBench(t, job)
	b.show(t, job)
	for range 3 {
		if got := b.reconcile(t); got.RequeueAfter != 0 {
			t.Errorf("looks again in %v, want only when the Job changes", got.RequeueAfter)
		}
	}
	got := b.told()
	if len(got) != 1 || !strings.HasPrefix(got[0], "Warning CannotDecide ") || !strings.Contains(got[0], "spec.completionMode") {
		t.Errorf("events: got %q, want one that names the field", got)
	}
	wantList(t, "writes", b.writes(), nil)
}

// Names of rules that cannot be read are told once, and the Job runs without.
func TestBadNames(t *testing.T) {
	job := newJob(func(job *batchv1.Job) { job.Annotations = map[string]string{namesAnnotation: "?"} })
	b := newBench(t, job)
	b.show(t, job)
	b.reconcile(t)
	b.reconcile(t)
	bad := 0
	for _, e := range b.told() {
		if strings.HasPrefix(e, "Warning InvalidRuleNames ") {
			bad++
		}
	}
	if bad != 1 {
		t.Errorf("told %d times, want once", bad)
	}
	wantList(t, "writes", b.writes(), []string{"create pods", "patch jobs/status"})
}

// After a failure the delay grows, but a deadline is not missed for it.
func TestTryAgain(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) {
		seconds := int64(3)
		job.Spec.ActiveDeadlineSeconds = &seconds
	})
	b := newBench(t, job)
	b.show(t, job)
	b.fail("create", "pods", -1, false, errQuota)
	for _, want := range []time.Duration{1, 2, 3, 3} {
		b.memories.of(job).stored = "" // the cache shows the status
		if got := b.reconcile(t).RequeueAfter; got != want*time.Second {
			t.Errorf("looks again in %v, want %ds", got, want)
		}
	}
}

func TestMemoryGoesWithTheJob(t *testing.T) {
	job := newJob()
	b := newBench(t, job)
	b.show(t, job)
	b.reconcile(t)
	if len(b.memories.all) != 1 {
		t.Fatalf("%d Jobs are remembered, want 1", len(b.memories.all))
	}
	if err := b.store.jobs.Delete(job); err != nil {
		t.Fatal(err)
	}
	b.reconcile(t)
	if len(b.memories.all) != 0 {
		t.Errorf("%d Jobs are remembered, want none", len(b.memories.all))
	}
	ended := newJob(started, func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	})
	b.show(t, ended)
	b.server.ClearActions()
	b.reconcile(t)
	if len(b.memories.all) != 0 || len(b.server.Actions()) != 0 {
		t.Errorf("a Job that has ended: %d are remembered, %d requests, want none", len(b.memories.all), len(b.server.Actions()))
	}
}

// A wait is told when it begins, and not again at each turn.
func TestExplained(t *testing.T) {
	var told told
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct {
		code       explain.Code
		now, until int
		want       string
	}{
		{explain.JobRunning, 0, 0, ""},
		{explain.JobBackingOff, 1, 10, "BackingOff"},
		{explain.JobBackingOff, 2, 10, ""},
		{explain.JobRunning, 11, 0, ""},
		{explain.JobBackingOff, 20, 40, ""}, // of the same kind, and soon after
		{explain.JobAwaitingTermination, 30, 0, "AwaitingTermination"},
		{explain.JobBackingOff, 31, 40, "BackingOff"},
		{explain.JobBackingOff, 400, 40, ""}, // still the same
		{explain.JobBackingOff, 401, 900, "BackingOff"},
	} {
		reason := explain.Reason{Code: step.code, Until: at(step.until), Text: "text"}
		if got := told.explained(reason, at(step.now)); got.Reason != step.want {
			t.Errorf("%s after %d s: told %q, want %q", step.code, step.now, got.Reason, step.want)
		}
	}
}

// Indexes that fail are told with what failed them; many of them in one event.
func TestFailedIndexes(t *testing.T) {
	indexed, five, none := batchv1.IndexedCompletion, int32(5), int32(0)
	earlier := "0"
	job := newJob(started, func(job *batchv1.Job) {
		job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism, job.Spec.BackoffLimitPerIndex = &indexed, &five, &five, &none
		job.Status.FailedIndexes = &earlier
	})
	s := jobfate.Snapshot{Job: job, Now: noon}
	for _, index := range []string{"1", "2", "3", "4"} {
		s.Pods = append(s.Pods, newPod(job, "pod-"+index, "5", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
			pod.Status.Phase = corev1.PodFailed
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}
		}))
	}
	d, err := jobfate.Decide(s, jobfate.ManagedBy(manager))
	if err != nil {
		t.Fatal(err)
	}
	got := failedIndexes(job, d).Message
	for _, want := range []string{"index 1: ", "pod pod-1: container main, exit code 3", "index 3: ", "; and 1 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "index 0") {
		t.Errorf("got %q: index 0 had failed before", got)
	}
	if e := failedIndexes(job, jobfate.Decision{}); e.Reason != "" {
		t.Errorf("without a status: got %+v, want nothing", e)
	}
}
