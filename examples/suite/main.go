// The command suite runs test suites in shards. A Suite is a custom resource that the module
// github.com/jobfate/jobfate/controller runs as an Indexed Job.
//
// To read the code, begin with jobSpec, which returns the Job spec of a suite. types.go has the
// kind, and everything else is generated. To try it:
//
//	kubectl apply -f deploy/crd.yaml -f deploy/samples/suite.yaml
//	go run . --leader-elect=false
package main

import (
	"cmp"
	"errors"
	"flag"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/tracking"
)

// finalizer blocks the deletion of a pod until it is counted.
const finalizer = "suites.jobfate.dev/counted"

var suites = controller.Kind[*Suite]{
	Spec:   jobSpec,
	Status: func(s *Suite) *batchv1.JobStatus { return &s.Status.Job },
	Keys:   tracking.Keys{Finalizer: finalizer},
}

// jobSpec returns the Job spec of a suite. If a shard has no retries left, the suite fails when the
// other shards have ended.
func jobSpec(s *Suite) batchv1.JobSpec {
	template := s.Spec.Template
	if template.Spec.RestartPolicy == "" {
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	return batchv1.JobSpec{
		CompletionMode:       new(batchv1.IndexedCompletion),
		Completions:          &s.Spec.Shards,
		Parallelism:          cmp.Or(s.Spec.Parallel, &s.Spec.Shards),
		BackoffLimitPerIndex: cmp.Or(s.Spec.Retries, new(int32(1))),
		Suspend:              &s.Spec.Paused,
		Template:             template,
	}
}

// register returns the options that flags set. --kubeconfig is controller-runtime's.
func register(flags *flag.FlagSet) *ctrl.Options {
	o := controller.ManagerFlags(flags)
	o.LeaderElectionID = "suite.jobfate.dev"
	o.LeaderElectionReleaseOnCancel = true // the process ends with the manager
	return o
}

func main() {
	o := register(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	mgr, err := newManager(ctrl.GetConfigOrDie(), *o)
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		klog.ErrorS(err, "The controller has stopped")
		os.Exit(1)
	}
}

// newManager returns a manager that runs suites.
func newManager(config *rest.Config, o ctrl.Options) (manager.Manager, error) {
	var err error
	if o.Scheme, err = newScheme(); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		controller.AddKind(mgr, suites, controller.Options{}))
}
