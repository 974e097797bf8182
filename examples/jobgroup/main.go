// The command jobgroup runs groups of Jobs with package group. Begin with decide.go. The same process runs
// the Jobs, with the module github.com/jobfate/jobfate/controller, which puts the names of the rules of
// their pod failure policies into the reasons (KEP-4443). To try it:
//
//	kubectl apply -f deploy/crd.yaml -f deploy/samples/fail-group.yaml
//	go run . --leader-elect=false
package main

import (
	"errors"
	"flag"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate/controller"
)

// settings are the flags. --kubeconfig is controller-runtime's.
type settings struct {
	namespace, metricsAddress, probeAddress string
	leaderElect                             bool
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.StringVar(&s.namespace, "namespace", "", "the only namespace to watch; empty: all")
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
	mgr, err := newManager(config, s.managerOptions(), s.namespace)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

// newManager returns a manager with two controllers: one for groups, one for their Jobs.
func newManager(config *rest.Config, o ctrl.Options, namespace string) (manager.Manager, error) {
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, err
	}
	groups := &groupController{client: mgr.GetClient(), live: mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder("jobgroup-controller")}
	return mgr, errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		ctrl.NewControllerManagedBy(mgr).For(&JobGroup{}).Owns(&batchv1.Job{}).Complete(groups),
		controller.Add(mgr, controller.Options{ManagedBy: managedBy, Namespaces: []string{namespace}}),
	)
}

func (s *settings) managerOptions() ctrl.Options {
	ofGroups, err := labels.Parse(groupLabel) // selects all values of the label
	utilruntime.Must(err)
	options := ctrl.Options{
		Scheme: newScheme(),
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: ofGroups}},
		},
		Metrics:                metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress: s.probeAddress,
		LeaderElection:         s.leaderElect,
		LeaderElectionID:       "jobgroup.jobfate.dev",
		// The process ends when the manager does, so nothing acts without the lease.
		LeaderElectionReleaseOnCancel: true,
	}
	if s.namespace != "" {
		options.Cache.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	}
	return options
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &JobGroup{}, &JobGroupList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme
}
