package adopting

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/examples/adopting/reconciler"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// Random schedules of faults for the Reconciler of docs/adopting.md. The schedule calls Reconcile
// itself, for the Job and for the pods without a controller.
func TestReconcilerSchedules(t *testing.T) {
	c := chaos.Config{ManagedBy: manager, Requests: []string{"default/", "other/"}}
	c.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r := &reconciler.Reconciler{Name: manager}
		if err := r.SetupWithManager(env.Manager); err != nil {
			t.Error(err)
		}
		return r
	})
}
