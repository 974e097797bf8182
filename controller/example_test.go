package controller_test

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/tracking"
)

// A complete program that runs Jobs.
func ExampleNewManager() {
	run := func(ctx context.Context, config *rest.Config) error {
		mgr, err := controller.NewManager(config, controller.Options{ManagedBy: "example.com/jobs"})
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
	_ = run
}

// An operator's manager also runs the Jobs of two namespaces, with custom delays.
func ExampleAdd() {
	add := func(mgr manager.Manager) error {
		return controller.Add(mgr, controller.Options{
			ManagedBy:  "example.com/jobs",
			Namespaces: []string{"training", "batch"},
			Decide: []decide.Option{
				decide.FillFreeSlots(),
				decide.Backoff(backoff.Policy{Base: time.Second, Cap: time.Minute}),
			},
		})
	}
	_ = add
}

// Sweep is the kind of the tests.
type Sweep = controller.Sweep

// Custom resources that run as Jobs.
func ExampleAddKind() {
	add := func(mgr manager.Manager) error {
		return controller.AddKind(mgr, controller.Kind[*Sweep]{
			Spec: func(s *Sweep) batchv1.JobSpec {
				return batchv1.JobSpec{Completions: &s.Spec.Trials, Template: s.Spec.Template}
			},
			Status: func(s *Sweep) *batchv1.JobStatus { return &s.Status.Job },
			Keys:   tracking.Keys{Finalizer: "example.com/counted"},
		}, controller.Options{})
	}
	_ = add
}
