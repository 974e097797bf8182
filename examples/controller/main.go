// The command controller runs Jobs whose spec.managedBy names it, with the
// decisions of jobfate. It runs beside the Job controller of Kubernetes, on any
// cluster from 1.32 on.
//
// To read it, begin with reconcile.go, which is the protocol of jobfate's
// documentation step by step; snapshot.go is its step 1, writes.go its steps 3 to
// 9, and memory.go what is remembered in between. watch.go says when a Job is
// looked at, orphans.go what becomes of pods without one. The rest is what a
// controller has beside: names.go, events.go, metrics.go and this file.
package main

import (
	"errors"
	"flag"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

// settings are the flags. --kubeconfig is controller-runtime's.
type settings struct {
	managedBy       string
	namespace       string
	concurrentSyncs int
	qps             float64
	burst           int
	leaderElect     bool
	leaderNamespace string
	metricsAddress  string
	probeAddress    string
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.StringVar(&s.managedBy, "managed-by", "jobfate.dev/controller", "the `name` in spec.managedBy of the Jobs to run")
	flags.StringVar(&s.namespace, "namespace", "", "the only namespace to watch; empty: all")
	flags.IntVar(&s.concurrentSyncs, "concurrent-syncs", 5, "how many Jobs are looked at at the same time")
	flags.Float64Var(&s.qps, "qps", 20, "the most writes per second")
	flags.IntVar(&s.burst, "burst", 30, "the most writes at once")
	flags.BoolVar(&s.leaderElect, "leader-elect", true, "elect a leader, so that of several replicas only one acts")
	flags.StringVar(&s.leaderNamespace, "leader-elect-namespace", "", "the namespace of the lease; empty: that of the controller's own pod")
	flags.StringVar(&s.metricsAddress, "metrics-bind-address", ":8080", "where to serve metrics; 0: nowhere")
	flags.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081", "where to serve /healthz and /readyz; 0: nowhere")
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	logging := flag.NewFlagSet("", flag.ExitOnError)
	klog.InitFlags(logging)
	flag.Var(logging.Lookup("v").Value, "v", "how much to log: 1, what is begun again; 2, each turn")
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
	// Reading and the lease have no limit, so that a flood of writes delays
	// neither. The server has its own.
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	limited := rest.CopyConfig(config)
	limited.QPS, limited.Burst = float32(s.qps), s.burst

	mgr, err := ctrl.NewManager(config, s.managerOptions())
	if err != nil {
		return err
	}
	reader, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	writer, err := kubernetes.NewForConfig(limited)
	if err != nil {
		return err
	}
	watch, err := newWatch(reader, s.namespace)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: writer.CoreV1().Events("")})

	c := newController(s.managedBy, watch.store(), reader, writer)
	c.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "jobfate-controller"})
	c.metrics = newMetrics(ctrlmetrics.Registry)
	watch.controller = c
	if err := add(mgr, c, watch, s.concurrentSyncs); err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	watch.factory.Start(ctx.Done()) // also where this process does not lead: a new leader has full caches
	return mgr.Start(ctx)
}

func (s *settings) managerOptions() ctrl.Options {
	grace := writeTimeout + 5*time.Second
	return ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress:  s.probeAddress,
		LeaderElection:          s.leaderElect,
		LeaderElectionNamespace: s.leaderNamespace,
		LeaderElectionID:        strings.ReplaceAll(s.managedBy, "/", "-"),
		// The process ends when the manager does, so nobody acts without the lease.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	}
}

func newController(managedBy string, store store, reader, writer kubernetes.Interface) *controller {
	return &controller{
		me:       tracking.Controller{Name: managedBy},
		options:  []jobfate.Option{jobfate.ManagedBy(managedBy), jobfate.BatchPeriod(batchPeriod), jobfate.FillFreeSlots()},
		store:    store,
		reader:   reader,
		writer:   writer,
		now:      time.Now,
		memories: memories{all: make(map[types.NamespacedName]*memory)},
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[request](time.Second, time.Minute),
	}
}

// add adds the controller and its watch to the manager.
func add(mgr ctrl.Manager, c *controller, watch *watch, workers int) error {
	runner, err := ctrlcontroller.NewTyped("job", mgr, ctrlcontroller.TypedOptions[request]{Reconciler: c, MaxConcurrentReconciles: workers})
	if err != nil {
		return err
	}
	filled := func(*http.Request) error {
		if !watch.synced() {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
	return errors.Join(
		runner.Watch(watch),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", filled),
	)
}
