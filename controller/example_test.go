package controller_test

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/controller"
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
			Decide: []jobfate.Option{
				jobfate.FillFreeSlots(),
				jobfate.Backoff(backoff.Policy{Base: time.Second, Cap: time.Minute}),
			},
		})
	}
	_ = add
}

// Custom resources that run as Jobs.
func ExampleAddKind() {
	add := func(mgr manager.Manager) error {
		return controller.AddKind(mgr, controller.Kind[*Suite]{
			Spec:   func(s *Suite) batchv1.JobSpec { return s.Spec.Job },
			Status: func(s *Suite) *batchv1.JobStatus { return &s.Status.Job },
			Keys:   tracking.Keys{Finalizer: "example.com/counted"},
		}, controller.Options{})
	}
	_ = add
}

// Suite is a kind whose objects have the spec and the status of a Job.
type Suite struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Job batchv1.JobSpec `json:"job"`
	} `json:"spec"`
	Status struct {
		Job batchv1.JobStatus `json:"job,omitempty"`
	} `json:"status,omitempty"`
}

func (s *Suite) DeepCopyObject() runtime.Object {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	c.Spec.Job, c.Status.Job = *s.Spec.Job.DeepCopy(), *s.Status.Job.DeepCopy()
	return &c
}
