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
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/jobfate/jobfate/internal/podtest"
)

var alone = orphanKey{NamespacedName: types.NamespacedName{Namespace: "default"}}

// A Job may exist although the cache does not show it. It is read live before its pods are freed.
func TestFree(t *testing.T) {
	job := newJob()
	leftBehind := orphanKey{client.ObjectKeyFromObject(job), job.UID}
	for name, tc := range map[string]struct {
		request orphanKey
		live    *batchv1.Job
		shown   []runtime.Object
		fails   bool
		writes  []string
	}{
		"the Job is gone":             {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), newPod(job, "done", "5", Released)}, false, []string{"patch pods"}},
		"the Job was made again":      {leftBehind, newJob(func(job *batchv1.Job) { job.UID = "next" }), []runtime.Object{newPod(job, "pod", "5")}, false, []string{"patch pods"}},
		"the Job is there":            {leftBehind, job, []runtime.Object{newPod(job, "pod", "5")}, true, nil},
		"no controller":               {alone, nil, []runtime.Object{newPod(job, "pod", "5", Ownerless)}, false, []string{"patch pods"}},
		"a Job may adopt it":          {alone, nil, []runtime.Object{newPod(job, "pod", "5", Ownerless), job}, false, nil},
		"another's Job may adopt it":  {alone, nil, []runtime.Object{newPod(job, "pod", "5", Ownerless), newJob(builtIn)}, false, []string{"patch pods"}},
		"the Job has been seen since": {leftBehind, nil, []runtime.Object{newPod(job, "pod", "5"), job}, false, nil},
		"there is nothing to free":    {leftBehind, nil, nil, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			if tc.live != nil {
				b = newFixture(t, tc.live)
			}
			b.show(t, tc.shown...)
			if _, err := (orphans{b.controller}).Reconcile(t.Context(), tc.request); (err != nil) != tc.fails {
				t.Errorf("got %v, want an error: %t", err, tc.fails)
			}
			Same(t, "writes", b.writes(), tc.writes)
			if reads := b.reads(); tc.live == nil && len(tc.writes) == 0 && reads > 0 {
				t.Errorf("read %d times for nothing", reads)
			}
		})
	}
}

// Each patch names the version of the pod: a new Job may adopt a pod while orphans are freed, and
// that pod must keep its finalizer. After a patch has failed, the others are still sent, and the
// failed one is retried. If several fail, the error that is returned is one that no other client caused.
func TestFree_returnsTheWorstError(t *testing.T) {
	for late, want := range map[string]metav1.StatusReason{"no pod": metav1.StatusReasonConflict, "b": metav1.StatusReasonTimeout} {
		b := newFixture(t)
		for _, name := range []string{"a", "b", "c"} {
			b.show(t, newPod(newJob(), name, "5", Ownerless))
		}
		versions := 0
		b.server.PrependReactor("patch", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
			patch := a.(ktesting.PatchAction)
			if strings.Contains(string(patch.GetPatch()), `"resourceVersion":"5"`) {
				versions++
			}
			if patch.GetName() == late {
				return true, nil, errTimeout
			}
			return true, nil, apierrors.NewConflict(pods, "pod", nil)
		})
		_, err := orphans{b.controller}.Reconcile(t.Context(), alone)
		if apierrors.ReasonForError(err) != want || versions != 3 {
			t.Errorf("%s times out: got %v and %d patches for version 5, want %s and 3", late, err, versions, want)
		}
	}
}
