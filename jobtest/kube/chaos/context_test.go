package chaos_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/jobtest/kube/chaos"
)

// The context of a process has ended when the next process starts, and at the end.
func TestContext(t *testing.T) {
	for name, run := range map[string]func(*testing.T, func(*chaos.Env) reconcile.Reconciler){
		"Config": chaos.Config{Schedules: 1, Without: []string{"second leader"}}.Test,
		"Creator": func(t *testing.T, factory func(*chaos.Env) reconcile.Reconciler) {
			one := twoJobs
			one.Schedules = 1
			one.Test(t, factory)
		},
	} {
		t.Run(name, func(t *testing.T) {
			starts, running := 0, atomic.Int32{}
			run(t, func(env *chaos.Env) reconcile.Reconciler {
				if synctest.Wait(); running.Load() > 0 {
					t.Error("a process starts, but the context of the last one goes on")
				}
				starts++
				running.Add(1)
				go func() { // would block forever in the bubble
					<-env.Context().Done()
					running.Add(-1)
				}()
				if name == "Creator" {
					return newTrainer(env)
				}
				return newReconciler(env)
			})
			if starts < 2 || running.Load() > 0 {
				t.Errorf("%d processes were started, want several; %d contexts go on", starts, running.Load())
			}
		})
	}
}
