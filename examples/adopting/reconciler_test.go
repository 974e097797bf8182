package adopting

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/examples/adopting/reconciler"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// The Reconciler of docs/adopting.md, in a manager, under faults.
func TestReconciler(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			under(t, seed, func(t *testing.T, ctx context.Context, s *kube.Server) (err error) {
				for ctx.Err() == nil { // a process that fails to start is started again
					time.Sleep(100 * time.Millisecond)
					var mgr ctrl.Manager
					mgr, err = ctrl.NewManager(s.Config(), ctrl.Options{
						Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
						Controller: config.Controller{SkipNameValidation: new(true)},
					})
					if err != nil {
						continue
					}
					if err = (&reconciler.Reconciler{Name: manager}).SetupWithManager(mgr); err == nil {
						err = mgr.Start(afterStart(ctx, mgr))
					}
				}
				return err
			})
		})
	}
}

// afterStart is a context that ends with another one, but not before a manager has
// started: one that is stopped while its caches are filled turns in a circle until they
// are, which takes for ever where time only passes when all wait.
func afterStart(ctx context.Context, mgr ctrl.Manager) context.Context {
	ends, stop := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		soon, cancel := context.WithTimeout(ends, time.Minute)
		defer cancel()
		mgr.GetCache().WaitForCacheSync(soon)
		time.Sleep(time.Second)
		stop()
	})
	return ends
}
