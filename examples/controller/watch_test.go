package main

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
)

func builtIn(job *batchv1.Job) { job.Spec.ManagedBy = nil }

// Whom a change of a pod wakes.
func TestPodChanged(t *testing.T) {
	job := newJob()
	pod := newPod(job, "pod", "5")
	batched := "default/job after 1s"
	leftBehind := "default/job gone job-uid after 1s"
	uncontrolled := "default/ after 1s"
	other := func(pod *corev1.Pod) {
		pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "ReplicaSet", "replica-set"
	}
	elsewhere := func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "other"} }
	for name, tc := range map[string]struct {
		job           *batchv1.Job // in the cache
		before, after *corev1.Pod
		want          []string
	}{
		"a new pod":                                {job, nil, pod, []string{batched}},
		"a pod that has changed":                   {job, pod, newPod(job, "pod", "6"), []string{batched}},
		"a pod that is gone":                       {job, pod, nil, []string{batched}},
		"of a Job that is another's":               {newJob(builtIn), nil, pod, nil},
		"of a Job that is gone":                    {nil, nil, pod, []string{leftBehind}},
		"of a Job that was made again":             {newJob(func(job *batchv1.Job) { job.UID = "next" }), nil, pod, []string{leftBehind}},
		"of a Job that is gone, without finalizer": {nil, nil, newPod(job, "pod", "5", stripped), nil},
		"of something else":                        {job, nil, newPod(job, "pod", "5", other), nil},
		"one that may be adopted":                  {job, nil, newPod(job, "pod", "5", orphaned), []string{batched}},
		"one that another may adopt":               {newJob(builtIn), nil, newPod(job, "pod", "5", orphaned), nil},
		"one that nobody may adopt":                {job, nil, newPod(job, "pod", "5", orphaned, elsewhere), []string{uncontrolled}},
		"orphaned":                                 {job, pod, newPod(job, "pod", "6", orphaned), []string{batched, batched}},
		"without an owner, as before":              {job, newPod(job, "pod", "5", orphaned, stripped), newPod(job, "pod", "6", orphaned, stripped), nil},
		"without an owner, with new labels":        {job, newPod(job, "pod", "5", orphaned, stripped, elsewhere), newPod(job, "pod", "6", orphaned, stripped), []string{batched}},
	} {
		t.Run(name, func(t *testing.T) {
			b, q := newBench(t), &asked{}
			if tc.job != nil {
				b.show(t, tc.job)
			}
			b.podChanged(q, tc.before, tc.after)
			wantList(t, "asked for", q.all, tc.want)
		})
	}
}

func TestJobChanged(t *testing.T) {
	job := newJob()
	gone := []string{"default/job", "default/job gone job-uid after 1s", "default/ after 1s"}
	for name, tc := range map[string]struct {
		old, job *batchv1.Job
		want     []string
	}{
		"new":                   {nil, job, []string{"default/job"}},
		"another's":             {nil, newJob(builtIn), nil},
		"only the status":       {job, newJob(started), []string{"default/job after 1s"}},
		"the spec":              {job, newJob(func(job *batchv1.Job) { job.Generation++ }), []string{"default/job"}},
		"made again":            {job, newJob(func(job *batchv1.Job) { job.UID = "next" }), append(slices.Clone(gone), "default/job")},
		"made again, another's": {job, newJob(builtIn, func(job *batchv1.Job) { job.UID = "next" }), append(slices.Clone(gone), "default/job")},
	} {
		t.Run(name, func(t *testing.T) {
			b, q := newBench(t), &asked{}
			b.jobChanged(q, tc.old, tc.job)
			wantList(t, "asked for", q.all, tc.want)
		})
	}
	b, q := newBench(t), &asked{}
	b.jobGone(q, newJob(builtIn))
	b.jobGone(q, job)
	wantList(t, "a Job that is gone: asked for", q.all, gone)
}

// A Job is deleted and its pods are not: they lose their owner while the Job can be
// seen, which is woken for them, and it is gone at its next turn. Whoever is asked
// then finds the pods.
func TestOrphanedBeforeTheJobGoes(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) { now := metav1.NewTime(noon); job.DeletionTimestamp = &now })
	pod := newPod(job, "pod", "6", orphaned, succeeded)
	b, q := newBench(t, pod), &asked{}
	b.show(t, job, pod)
	b.podChanged(q, newPod(job, "pod", "5", succeeded), pod)
	if err := b.store.jobs.Delete(job); err != nil {
		t.Fatal(err)
	}
	b.jobGone(q, job)
	for _, r := range q.requests {
		if _, err := b.Reconcile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	wantList(t, "writes", b.writes(), []string{"patch pods"})
}

// "That the cache does not show a Job does not say that it is gone": a live read
// comes before its pods are freed.
func TestFree(t *testing.T) {
	job := newJob()
	leftBehind := request{nameOf(job), job.UID}
	alone := request{NamespacedName: nameOf(job)}
	alone.Name = ""
	for name, tc := range map[string]struct {
		request request
		live    *batchv1.Job
		shown   []runtime.Object
		err     error
		writes  []string
	}{
		"the Job is gone":             {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), newPod(job, "done", "5", stripped)}, nil, []string{"patch pods"}},
		"the Job was made again":      {leftBehind, newJob(func(job *batchv1.Job) { job.UID = "next" }), []runtime.Object{newPod(job, "pod", "5")}, nil, []string{"patch pods"}},
		"the Job is there":            {leftBehind, job, []runtime.Object{newPod(job, "pod", "5")}, errStale, nil},
		"nobody controls it":          {alone, nil, []runtime.Object{newPod(job, "pod", "5", orphaned)}, nil, []string{"patch pods"}},
		"a Job may adopt it":          {alone, nil, []runtime.Object{newPod(job, "pod", "5", orphaned), newJob(builtIn)}, nil, nil},
		"the Job has been seen since": {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), job}, nil, nil},
		"there is nothing to free":    {leftBehind, nil, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.live != nil {
				b = newBench(t, tc.live)
			}
			b.show(t, tc.shown...)
			if err := b.free(t.Context(), tc.request); err != tc.err {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			wantList(t, "writes", b.writes(), tc.writes)
			if reads := b.reads(); tc.live == nil && len(tc.writes) == 0 && reads > 0 {
				t.Errorf("read %d times for nothing", reads)
			}
		})
	}
}

// A Job that is made while pods are freed may adopt one: that keeps its finalizer. A
// pod that cannot be freed does not keep the others from it.
func TestFreeGoesOn(t *testing.T) {
	job := newJob()
	b := newBench(t)
	for _, name := range []string{"a", "b", "c"} {
		b.show(t, newPod(job, name, "5", orphaned))
	}
	versions := 0
	b.server.PrependReactor("patch", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if strings.Contains(string(a.(ktesting.PatchAction).GetPatch()), `"resourceVersion":"5"`) {
			versions++
		}
		return true, nil, apierrors.NewConflict(pods, "pod", nil)
	})
	alone := request{NamespacedName: types.NamespacedName{Namespace: "default"}}
	if err := b.free(t.Context(), alone); !apierrors.IsConflict(err) || versions != 3 {
		t.Errorf("got %v and %d patches for version 5, want a conflict and 3", err, versions)
	}
}

func TestSlim(t *testing.T) {
	pod := newPod(newJob(), "pod", "5")
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	if got, err := slim(pod); err != nil || len(got.(*corev1.Pod).ManagedFields) > 0 {
		t.Errorf("got %v, %v, want no managed fields", got, err)
	}
}
