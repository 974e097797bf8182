package census

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// While all listed pods carry their finalizer, release does not search the lists.
func TestAccount_releaseAllocatesNothing(t *testing.T) {
	lists := &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a", "b"}}
	c := New(Classifier{Uncounted: ReadUncounted(lists)}, 0)
	var pods []*corev1.Pod
	for _, uid := range []types.UID{"a", "b", "c"} {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Finalizers: []string{batchv1.JobTrackingFinalizer}},
			Status:     corev1.PodStatus{Phase: corev1.PodFailed},
		})
		c.Add(pods[len(pods)-1], false)
	}
	a := Account{Lists: lists}
	if n := testing.AllocsPerRun(10, func() { a.release(c) }); n != 0 || a.Failed != 0 {
		t.Errorf("%d released with %v allocations, want none", a.Failed, n)
	}
	c.Remove("b")
	if a.release(c); a.Failed != 1 || len(a.Lists.Failed) != 1 || a.Lists.Failed[0] != "a" {
		t.Errorf("%d released, %v left, want b released and a left", a.Failed, a.Lists.Failed)
	}
}
