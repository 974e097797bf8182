package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

func named(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/held"}}}
}

// Neither a controller nor a user can create a pod whose name is in use, and the existing
// pod stays unchanged. A name that becomes free can be used again.
func TestAlreadyExists(t *testing.T) {
	c, cache := newStage(t, 1)
	creates := func(name string) error {
		return c.Run(controllerFunc(func(client *cluster.Client) error {
			_, err := client.CreatePod(named(name))
			return err
		}), cache).Err
	}
	must(t, creates("a"))
	if err := creates("a"); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second pod with this name: got %v, want AlreadyExists", err)
	}
	if pod := c.Add(named("a")); pod != nil || len(c.Pods()) != 1 {
		t.Errorf("Add returns %v, and there are %d pods; want none and 1", pod, len(c.Pods()))
	}
	first := c.Pods()[0]
	out := c.Run(controllerFunc(func(client *cluster.Client) error {
		_, err := client.PatchPod(first, []byte(`{"metadata":{"uid":"`+string(first.UID)+`","$deleteFromPrimitiveList/finalizers":["example.com/held"]}}`))
		return err
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
	out := c.Run(controllerFunc(func(client *cluster.Client) error {
		return client.DeletePod(c.Pod(b.UID), metav1.DeleteOptions{})
	}), cache)
	if out.Err != nil || c.Pod(b.UID).DeletionTimestamp == nil {
		t.Errorf("got %v, and the pod is not being deleted", out.Err)
	}
}
