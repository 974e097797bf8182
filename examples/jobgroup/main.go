// The command jobgroup runs groups of Jobs with package group. Begin with reconcile.go. The same process runs
// the Jobs, with the module github.com/jobfate/jobfate/controller, which puts the names of the rules of
// their pod failure policies into the reasons (KEP-4443). README.md says how to try it.
package main

import (
	"flag"
	"maps"
	"os"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobfate/jobfate/controller"
)

// register returns the options that flags set. --kubeconfig is controller-runtime's.
func register(flags *flag.FlagSet) *ctrl.Options {
	o := controller.ManagerFlags(flags)
	o.LeaderElectionID = "jobgroup.jobfate.dev"
	flags.Func("namespace", "the only namespace to watch; by default all", func(name string) error {
		o.Cache.DefaultNamespaces = map[string]cache.Config{name: {}}
		return nil
	})
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

// newManager returns a manager with two controllers: one for groups, one for their Jobs.
func newManager(config *rest.Config, o ctrl.Options) (manager.Manager, error) {
	ofGroups, err := labels.Parse(groupLabel) // selects all values of the label
	if err != nil {
		return nil, err
	}
	o.Cache.ByObject = map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: ofGroups}}
	if o.Scheme, err = newScheme(); err != nil {
		return nil, err
	}
	mgr, err := controller.NewManager(config, controller.Options{ManagedBy: managedBy, Manager: o,
		Namespaces: slices.Collect(maps.Keys(o.Cache.DefaultNamespaces))})
	if err != nil {
		return nil, err
	}
	groups := &groupController{mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("jobgroup-controller")}
	return mgr, ctrl.NewControllerManagedBy(mgr).For(&JobGroup{}).Owns(&batchv1.Job{}).Complete(groups)
}
