package adopting

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/examples/adopting/clientgo"
	"github.com/jobfate/jobfate/examples/adopting/reconciler"
	"github.com/jobfate/jobfate/jobtest/kube"
)

// start runs a controller of docs/adopting.md until its context ends.
type start func(ctx context.Context, s *kube.Server) error

var starts = map[string]start{"client-go": startClientGo, "Reconciler": startReconciler}

func TestClientGo(t *testing.T) { underFaults(t, 60, startClientGo) }

func TestReconciler(t *testing.T) { underFaults(t, 30, startReconciler) }

func underFaults(t *testing.T, seeds uint64, run start) {
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runUnderFaults(t, seed, run) })
	}
}

func startClientGo(ctx context.Context, s *kube.Server) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	return (&clientgo.Controller{Client: client, Name: manager}).Run(ctx, 2)
}

func startReconciler(ctx context.Context, s *kube.Server) error {
	mgr, err := ctrl.NewManager(s.Config(), ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)},
	})
	if err != nil {
		return err
	}
	if err := (&reconciler.Reconciler{Name: manager}).SetupWithManager(mgr); err != nil {
		return err
	}
	return startUntil(ctx, mgr)
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

// begin starts a controller, and returns a function that stops it.
func begin(s *kube.Server, run start) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var process sync.WaitGroup
	process.Go(func() {
		for ctx.Err() == nil && run(ctx, s) != nil { // a process that fails to start is started again
			time.Sleep(100 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		process.Wait()
	}
}
