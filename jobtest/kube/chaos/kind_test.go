package chaos_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/jobtest/kube/chaos"
	"github.com/jobfate/jobfate/jobtest/referee"
	"github.com/jobfate/jobfate/tracking"
)

// A Reconciler for objects of another kind violates no property. Its pods have an owner of
// that kind, and the keys of the controller.
func TestOtherKind(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Suite"}
	keys := tracking.Keys{Finalizer: "example.com/counted", Index: "example.com/part", FailureCount: "example.com/part-failures"}
	c := chaos.Config{Schedules: 300, Rules: referee.Rules{Owner: kind.GroupKind(), Keys: keys}}
	c.Test(t, func(env *chaos.Env) reconcile.Reconciler {
		r := newReconciler(env)
		r.options = []jobfate.Option{jobfate.OwnerKind(kind), jobfate.Keys(keys)}
		return r
	})
}
