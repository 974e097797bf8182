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
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

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

// settings holds the flags. --kubeconfig is controller-runtime's.
type settings struct {
	metricsAddress, probeAddress string
	leaderElect                  bool
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.BoolVar(&s.leaderElect, "leader-elect", true, "elect a leader, so that only one of several replicas acts")
	flags.StringVar(&s.metricsAddress, "metrics-bind-address", ":8080", "the address that serves metrics; 0: none")
	flags.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081",
		"the address that serves /healthz and /readyz; 0: none")
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	if err := run(s); err != nil {
		klog.ErrorS(err, "The controller has stopped")
		os.Exit(1)
	}
}

func run(s settings) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := newManager(config, s.managerOptions())
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func (s *settings) managerOptions() ctrl.Options {
	return ctrl.Options{
		Metrics:                       metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress:        s.probeAddress,
		LeaderElection:                s.leaderElect,
		LeaderElectionID:              "suite.jobfate.dev",
		LeaderElectionReleaseOnCancel: true, // the process ends with the manager
	}
}

// newManager returns a manager that runs suites.
func newManager(config *rest.Config, o ctrl.Options) (manager.Manager, error) {
	o.Scheme = runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(o.Scheme), addToScheme(o.Scheme)); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping),
		controller.AddKind(mgr, suites, controller.Options{}))
}
