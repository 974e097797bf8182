package controller

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var alone = orphaned{NamespacedName: types.NamespacedName{Namespace: "default"}}

// A Job is deleted and its pods are not: they lose their owner while the Job can be
// seen, which is woken for them, and it is gone at its next sync. Whoever is asked
// then finds the pods.
func TestOrphanedBeforeTheJobGoes(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) { now := metav1.NewTime(noon); job.DeletionTimestamp = &now })
	pod := newPod(job, "pod", "6", ownerless, succeeded)
	b, q, free := newBench(t, pod), &asked[reconcile.Request]{}, &asked[orphaned]{}
	o := orphans{b.controller}
	b.show(t, job, pod)
	b.podChanged(q, newPod(job, "pod", "5", succeeded), pod)
	o.podChanged(free, newPod(job, "pod", "5", succeeded), pod)
	if err := b.store.jobs.Delete(job); err != nil {
		t.Fatal(err)
	}
	o.jobChanged(free, job, nil)
	for _, r := range q.requests {
		if _, err := b.Reconcile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range free.requests {
		if _, err := o.Reconcile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	wantList(t, "writes", b.writes(), []string{"patch pods"})
}

// "That the cache does not show a Job does not say that it is gone": a live read
// comes before its pods are freed.
func TestFree(t *testing.T) {
	job := newJob()
	leftBehind := orphaned{nameOf(job), job.UID}
	for name, tc := range map[string]struct {
		request orphaned
		live    *batchv1.Job
		shown   []runtime.Object
		fails   bool
		writes  []string
	}{
		"the Job is gone":             {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), newPod(job, "done", "5", stripped)}, false, []string{"patch pods"}},
		"the Job was made again":      {leftBehind, newJob(func(job *batchv1.Job) { job.UID = "next" }), []runtime.Object{newPod(job, "pod", "5")}, false, []string{"patch pods"}},
		"the Job is there":            {leftBehind, job, []runtime.Object{newPod(job, "pod", "5")}, true, nil},
		"no controller":               {alone, nil, []runtime.Object{newPod(job, "pod", "5", ownerless)}, false, []string{"patch pods"}},
		"a Job may adopt it":          {alone, nil, []runtime.Object{newPod(job, "pod", "5", ownerless), newJob(builtIn)}, false, nil},
		"the Job has been seen since": {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), job}, false, nil},
		"there is nothing to free":    {leftBehind, nil, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.live != nil {
				b = newBench(t, tc.live)
			}
			b.show(t, tc.shown...)
			if _, err := (orphans{b.controller}).Reconcile(t.Context(), tc.request); (err != nil) != tc.fails {
				t.Errorf("got %v, want an error: %t", err, tc.fails)
			}
			wantList(t, "writes", b.writes(), tc.writes)
			if reads := b.reads(); tc.live == nil && len(tc.writes) == 0 && reads > 0 {
				t.Errorf("read %d times for nothing", reads)
			}
		})
	}
}

// Of several errors the one that an operator must know about is returned.
func TestFreeTellsTheWorst(t *testing.T) {
	job := newJob()
	b := newBench(t)
	for _, name := range []string{"a", "b", "c"} {
		b.show(t, newPod(job, name, "5", ownerless))
	}
	b.server.PrependReactor("patch", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if a.(ktesting.PatchAction).GetName() == "b" {
			return true, nil, errTimeout
		}
		return true, nil, apierrors.NewConflict(pods, "pod", nil)
	})
	if _, err := (orphans{b.controller}).Reconcile(t.Context(), alone); !apierrors.IsTimeout(err) {
		t.Errorf("got %v, want %v", err, errTimeout)
	}
}

// A Job that is made while pods are freed may adopt one: that keeps its finalizer. A
// pod that cannot be freed does not keep the others from it, and they are looked at
// again.
func TestFreeGoesOn(t *testing.T) {
	job := newJob()
	b := newBench(t)
	for _, name := range []string{"a", "b", "c"} {
		b.show(t, newPod(job, name, "5", ownerless))
	}
	versions := 0
	b.server.PrependReactor("patch", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		if strings.Contains(string(a.(ktesting.PatchAction).GetPatch()), `"resourceVersion":"5"`) {
			versions++
		}
		return true, nil, apierrors.NewConflict(pods, "pod", nil)
	})
	_, err := orphans{b.controller}.Reconcile(t.Context(), alone)
	if !apierrors.IsConflict(err) || versions != 3 {
		t.Errorf("got %v and %d patches for version 5, want a conflict, after which it is tried again, and 3", err, versions)
	}
}
