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
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runUnderFaults(t, seed, startReconciler) })
	}
}

func startReconciler(_ *testing.T, ctx context.Context, s *kube.Server) (err error) {
	for ctx.Err() == nil { // a process that fails to start is started again
		time.Sleep(100 * time.Millisecond)
		var mgr ctrl.Manager
		mgr, err = ctrl.NewManager(s.Config(), ctrl.Options{
			Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
		})
		if err != nil {
			continue
		}
		if err = (&reconciler.Reconciler{Name: manager}).SetupWithManager(mgr); err == nil {
			err = startUntil(ctx, mgr)
		}
	}
	return err
}

// startUntil runs a manager until the context ends and its caches are filled. A manager that
// is stopped earlier polls until they are filled. In a synctest bubble the caches would
// never be filled, because time passes only while all goroutines are blocked.
func startUntil(ctx context.Context, mgr ctrl.Manager) error {
	running, stop := context.WithCancel(context.Background())
	failed, over := context.WithCancel(context.Background())
	defer over()
	context.AfterFunc(ctx, func() {
		select {
		case <-mgr.Elected(): // after the caches
			time.Sleep(time.Second)
		case <-failed.Done():
		}
		stop()
	})
	return mgr.Start(running)
}
