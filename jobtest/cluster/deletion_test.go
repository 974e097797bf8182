package cluster_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A new pod has no deletion timestamp. A pod that gets one by an edit, without a grace
// period, has a grace period of zero.
func TestDeletionWithoutGrace(t *testing.T) {
	at := metav1.NewTime(noon)
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
	if pod := c.Pod(uid); pod != nil {
		t.Errorf("got %v, want none: it has no finalizer any more", pod)
	}
	b := c.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b"}}).UID
	c.Edit(b, dying)
	if pod := c.Pod(b); pod != nil {
		t.Errorf("got %v, want none: it never had a finalizer", pod)
	}
}
