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

var alone = orphanKey{NamespacedName: types.NamespacedName{Namespace: "default"}}

// A Job is deleted without its pods. The pods lose their owner while the cache still shows the
// Job, so only the Job is queued. When the Job is gone, its pods are queued as orphans.
func TestOrphanedBeforeTheJobGoes(t *testing.T) {
	job := newJob(started, func(job *batchv1.Job) { now := metav1.NewTime(noon); job.DeletionTimestamp = &now })
	pod := newPod(job, "pod", "6", ownerless, succeeded)
	b, q, free := newBench(t, pod), &asked[reconcile.Request]{}, &asked[orphanKey]{}
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

// A Job that the cache does not show may exist: it is read live before its pods are freed.
func TestFree(t *testing.T) {
	job := newJob()
	leftBehind := orphanKey{nameOf(job), job.UID}
	for name, tc := range map[string]struct {
		request orphanKey
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

// Of several errors, one that another client did not cause is returned.
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

// A Job that is created while pods are freed may adopt one, which then keeps its finalizer. A pod
// that cannot be freed does not stop the others from being freed, and is retried.
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
		t.Errorf("got %v and %d patches for version 5, want a conflict and 3", err, versions)
	}
}
