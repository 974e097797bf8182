// The command controller runs Jobs whose spec.managedBy names it, with the
// decisions of jobfate. It runs beside the Job controller of Kubernetes, on any
// cluster from 1.32 on.
//
// To read it, begin with reconcile.go, which is one sync of a Job: a jobfate.Machine
// decides it and names the requests, send.go sends them, and store.go is what the
// caches hold. watch.go fills these, and route.go says what a change wakes; orphans.go
// frees the pods that have no Job. The rest is what a controller has beside: names.go,
// events.go, metrics.go, retries.go and this file.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
	"github.com/jobfate/jobfate/validation"
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

// validate refuses names that no Job can have in spec.managedBy, and the one that
// stands for the Job controller of Kubernetes.
func (s *settings) validate() error {
	path := field.NewPath("managed-by")
	errs := utilvalidation.IsDomainPrefixedPath(path, s.managedBy)
	if len(s.managedBy) > validation.MaxManagedByLength {
		errs = append(errs, field.TooLong(path, s.managedBy, validation.MaxManagedByLength))
	}
	if s.managedBy == batchv1.JobControllerName {
		errs = append(errs, field.Invalid(path, s.managedBy, "these Jobs are run by the Job controller of Kubernetes"))
	}
	return errs.ToAggregate()
}

// leaseName returns the name of the lease, another for each name in spec.managedBy. One
// that has a character too many for a lease is told apart by a hash, behind a second
// dash.
func leaseName(managedBy string) string {
	if regexp.MustCompile(`^[a-z0-9.]+/[a-z0-9]+$`).MatchString(managedBy) {
		return strings.Replace(managedBy, "/", "-", 1)
	}
	plain := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(managedBy), "-")
	return fmt.Sprintf("%s-%.4x", plain, sha256.Sum256([]byte(managedBy)))
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	logging := flag.NewFlagSet("", flag.ExitOnError)
	klog.InitFlags(logging)
	flag.Var(logging.Lookup("v").Value, "v", "how much to log: 1, what is begun again; 2, each sync")
	flag.Parse()
	ctrl.SetLogger(klog.NewKlogr())
	if err := run(s); err != nil {
		klog.ErrorS(err, "The controller has stopped")
		os.Exit(1)
	}
}

func run(s settings) error {
	if err := s.validate(); err != nil {
		return err
	}
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

	c := newController(s.managedBy, watch.store, sender{reader, writer})
	c.recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "jobfate-controller"})
	c.metrics = newMetrics(ctrlmetrics.Registry)
	if err := add(mgr, c, watch, s.concurrentSyncs); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func (s *settings) managerOptions() ctrl.Options {
	grace := requestTimeout + 5*time.Second
	return ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress:  s.probeAddress,
		LeaderElection:          s.leaderElect,
		LeaderElectionNamespace: s.leaderNamespace,
		LeaderElectionID:        leaseName(s.managedBy),
		// The process ends when the manager does, so nobody acts without the lease.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
	}
}

func newController(managedBy string, store *store, sender sender) *controller {
	return &controller{
		sender: sender,
		me:     tracking.Controller{Name: managedBy},
		options: []jobfate.Option{jobfate.ManagedBy(managedBy), jobfate.BatchPeriod(batchPeriod),
			jobfate.FillFreeSlots(), jobfate.Names(podName)},
		store:   store,
		now:     time.Now,
		retries: newRetries[reconcile.Request](),
	}
}

// add adds the controller and its watch to the manager.
func add(mgr ctrl.Manager, c *controller, watch *watch, workers int) error {
	jobs, err := ctrlcontroller.NewTyped("job", mgr, ctrlcontroller.TypedOptions[reconcile.Request]{
		Reconciler: c, MaxConcurrentReconciles: workers, RateLimiter: c.retries,
	})
	if err != nil {
		return err
	}
	free := orphans{c}
	freed, err := ctrlcontroller.NewTyped("orphans", mgr, ctrlcontroller.TypedOptions[orphaned]{
		Reconciler: free, RateLimiter: newRetries[orphaned](),
	})
	if err != nil {
		return err
	}
	filled := func(*http.Request) error {
		select {
		case <-mgr.Elected():
			if !watch.synced() {
				return errors.New("the caches are not filled yet")
			}
		default: // a standby has none
		}
		return nil
	}
	return errors.Join(
		jobs.Watch(source[reconcile.Request]{watch, c.jobChanged, c.podChanged}),
		freed.Watch(source[orphaned]{watch, free.jobChanged, free.podChanged}),
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", filled),
	)
}
