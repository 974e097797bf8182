package chaos_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// A sync function that uses a clientset of client-go violates no property.
func TestClientset(t *testing.T) {
	chaos.Config{Schedules: 300}.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		client, err := kubernetes.NewForConfig(env.Manager.GetConfig())
		if err != nil {
			t.Error(err)
			return nil
		}
		r := newReconciler(env)
		r.send = func(ctx context.Context, q jobfate.Request) (runtime.Object, error) {
			jobs, pods := client.BatchV1().Jobs(q.Namespace), client.CoreV1().Pods(q.Namespace)
			switch q.Verb {
			case jobfate.GetJob:
				return jobs.Get(ctx, q.Name, metav1.GetOptions{})
			case jobfate.ListPods:
				return pods.List(ctx, metav1.ListOptions{})
			case jobfate.GetPod:
				return pods.Get(ctx, q.Name, metav1.GetOptions{})
			case jobfate.CreatePod:
				return pods.Create(ctx, q.Pod, metav1.CreateOptions{})
			case jobfate.PatchPod:
				return pods.Patch(ctx, q.Name, types.StrategicMergePatchType, q.Patch, metav1.PatchOptions{})
			case jobfate.DeletePod:
				return nil, pods.Delete(ctx, q.Name, q.Options)
			}
			return jobs.Patch(ctx, q.Name, types.MergePatchType, q.Patch, metav1.PatchOptions{}, "status")
		}
		return r
	})
}

// A watch fails the test, and the report says what is not supported.
func TestClientset_watch(t *testing.T) {
	found := chaos.Config{Schedules: 1}.Search(t, func(env *chaos.Env) reconcile.Reconciler {
		client, err := kubernetes.NewForConfig(env.Config())
		if err != nil {
			t.Error(err)
		}
		return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			_, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
			return reconcile.Result{}, err
		})
	}).Violation
	if found == nil || found.Property != "chaos" || !strings.HasPrefix(found.Text, "a watch of pods is not supported") {
		t.Errorf("found %v, want a violation that names the watch", found)
	}
}
