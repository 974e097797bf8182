package chaos_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

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
