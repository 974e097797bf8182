package chaos_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// The test is one call with the factory of the Reconciler. For a whole Reconciler and its test see
// examples/adopting/reconciler.
func ExampleTest() {
	var t *testing.T // the argument of your TestReconciler
	chaos.Test(t, func(env *chaos.Env) reconcile.Reconciler { return newReconciler(env) })
}
