// Jobfate-controller runs Jobs whose spec.managedBy names it, with the module
// github.com/jobfate/jobfate/controller. It runs beside the Job controller of
// Kubernetes, on any cluster from 1.35 on.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/controller"
	"github.com/jobfate/jobfate/decide"
)

// settings holds the flags. --kubeconfig is controller-runtime's.
type settings struct {
	controller.Options
	namespaces                   string
	qps                          float64
	backoff                      backoff.Policy
	maxChanges, maxUncounted     int
	fillFreeSlots, succeedOnZero bool
	failLostPods                 time.Duration
	manager                      *ctrl.Options
	verbosity                    int
	logJSON                      bool
}

func (s *settings) register(flags *flag.FlagSet) {
	flags.StringVar(&s.ManagedBy, "managed-by", controller.DefaultManagedBy,
		"the `name` in spec.managedBy of the Jobs to run")
	flags.BoolVar(&s.ReplaceBuiltIn, "replace-built-in", false,
		"run the Jobs without spec.managedBy, on a cluster whose built-in Job controller is switched off")
	flags.StringVar(&s.namespaces, "namespaces", "", "the namespaces to watch, separated by commas; empty: all")
	flags.IntVar(&s.Workers, "concurrent-syncs", 5, "the number of concurrent syncs")
	flags.Float64Var(&s.qps, "qps", 20, "the maximum of writes per second; 0: no limit")
	flags.IntVar(&s.Burst, "burst", 30, "the maximum of writes in a burst")
	flags.DurationVar(&s.BatchPeriod, "batch-period", time.Second,
		"the delay between a change of a pod and the sync of its Job")
	flags.DurationVar(&s.backoff.Base, "backoff-base", 10*time.Second, "the delay after the first failed pod")
	flags.DurationVar(&s.backoff.Cap, "backoff-cap", 10*time.Minute, "the longest delay after a failed pod")
	flags.IntVar(&s.maxChanges, "max-changes", 500, "the maximum of pods that one sync creates or deletes")
	flags.IntVar(&s.maxUncounted, "max-uncounted", 500, "the maximum of pods that one status write records")
	flags.StringVar(&s.EventSource, "event-source", "",
		"the component that sends the events; empty: jobfate-controller")
	flags.BoolVar(&s.fillFreeSlots, "fill-free-slots", true, "run ready indexes while lower indexes back off")
	flags.DurationVar(&s.failLostPods, "fail-lost-pods", 0,
		"the time after its grace period at which a pod on a lost node counts as failed; 0: never")
	flags.BoolVar(&s.succeedOnZero, "succeed-on-exit-zero", false,
		"count a failed pod as succeeded if its containers have exited with 0, as after an eviction")
	m := controller.ManagerFlags(flags)
	m.LeaseDuration, m.RenewDeadline, m.RetryPeriod = new(time.Duration), new(time.Duration), new(time.Duration)
	s.manager = m
	flags.StringVar(&m.LeaderElectionID, "lease", "", "the name of the lease; empty: derived from --managed-by")
	flags.StringVar(&m.LeaderElectionNamespace, "leader-elect-namespace", "",
		"the namespace of the lease; empty: that of the pod of the controller")
	flags.DurationVar(m.LeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"the time after which a standby takes the lease of a leader that does not renew it")
	flags.DurationVar(m.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"the time after which a leader that cannot renew the lease ends")
	flags.DurationVar(m.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "the time between two attempts")
	flags.BoolVar(&m.Metrics.SecureServing, "metrics-secure", false,
		"serve the metrics with TLS, to callers that may get /metrics")
	flags.IntVar(&s.verbosity, "v", 0, "the log level; 1: retries after conflicts; 2: each sync")
	flags.BoolVar(&s.logJSON, "log-json", false, "log in JSON, one object a line")
}

// logger writes to the standard error output.
func (s *settings) logger() logr.Logger {
	level := &slog.HandlerOptions{Level: slog.Level(-s.verbosity)}
	if s.logJSON {
		return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, level))
	}
	return logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, level))
}

// options returns the options that the flags stand for.
func (s *settings) options() controller.Options {
	o := s.Options
	if s.namespaces != "" {
		o.Namespaces = strings.Split(s.namespaces, ",")
	}
	if o.ReplaceBuiltIn && o.ManagedBy == controller.DefaultManagedBy {
		o.ManagedBy = ""
	}
	if o.QPS = float32(s.qps); o.QPS == 0 {
		o.QPS = -1
	}
	o.Decide = []decide.Option{decide.Backoff(s.backoff), decide.MaxChanges(s.maxChanges),
		decide.MaxUncounted(s.maxUncounted), decide.FailLostPods(s.failLostPods)}
	if s.succeedOnZero {
		o.Decide = append(o.Decide, decide.SucceedOnExitZero())
	}
	if s.fillFreeSlots {
		o.Decide = append(o.Decide, decide.FillFreeSlots())
	}
	o.Manager = *s.manager
	if o.Manager.Metrics.SecureServing {
		o.Manager.Metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return o
}

// flagOf names the flags whose names are not those of the options.
var flagOf = strings.NewReplacer(
	"managedBy", "managed-by",
	"workers", "concurrent-syncs",
	"batchPeriod", "batch-period",
	"MaxChanges", "max-changes",
	"MaxUncounted", "max-uncounted",
	"FailLostPods", "fail-lost-pods",
	"Backoff.base", "backoff-base",
	"Backoff.cap", "backoff-cap",
	"manager.leaderElectionID", "lease",
	"manager.leaderElectionNamespace", "leader-elect-namespace",
	"manager.leaseDuration", "leader-elect-lease-duration",
	"manager.renewDeadline", "leader-elect-renew-deadline",
	"manager.retryPeriod", "leader-elect-retry-period",
)

// check rejects values with another meaning in the options: zeros mean defaults, a negative QPS no limit.
func (s *settings) check(flags *flag.FlagSet) error {
	var errs []error
	for _, number := range []struct {
		name, want string
		ok         bool
	}{
		{"concurrent-syncs", "must be positive", s.Workers > 0},
		{"qps", "must not be negative", s.qps >= 0}, // nor NaN
		{"burst", "must be positive", s.Burst > 0},
		{"batch-period", "must be positive", s.BatchPeriod > 0},
	} {
		if !number.ok {
			value := flags.Lookup(number.name).Value.String()
			errs = append(errs, field.Invalid(field.NewPath("--"+number.name), value, number.want))
		}
	}
	if flags.NArg() > 0 {
		errs = append(errs, fmt.Errorf("unexpected argument %q: flags are written --name=value", flags.Arg(0)))
	}
	return errors.Join(errs...)
}

// byFlag makes errors in options name the flags.
func byFlag(err error) error {
	all, ok := err.(utilerrors.Aggregate)
	if !ok {
		return err
	}
	var errs []error
	for _, err := range all.Errors() {
		var invalid *field.Error
		if errors.As(err, &invalid) {
			named := *invalid
			named.Field = "--" + flagOf.Replace(invalid.Field)
			err = &named
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func main() {
	var s settings
	s.register(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(s.logger())
	klog.SetLogger(s.logger()) // client-go's
	err := s.check(flag.CommandLine)
	if err == nil {
		err = run(&s)
	}
	if err != nil {
		s.logger().Error(err, "The controller has stopped")
		os.Exit(1)
	}
}

func run(s *settings) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := controller.NewManager(config, s.options())
	if err != nil {
		return byFlag(err)
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
