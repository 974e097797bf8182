package controller

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/validation"
)

// DefaultManagedBy is the default of Options.ManagedBy.
const DefaultManagedBy = "jobfate.dev/controller"

// defaultBatchPeriod is that of the built-in controller.
const defaultBatchPeriod = time.Second

// Options configures a controller. The zero value decides as the built-in controller does,
// with its default limits.
type Options struct {
	// ManagedBy is the name in spec.managedBy of the Jobs to run. The default is
	// [DefaultManagedBy].
	ManagedBy string
	// ReplaceBuiltIn runs the Jobs of the built-in controller, those without a name in
	// spec.managedBy. Use it in clusters where that controller is switched off.
	ReplaceBuiltIn bool
	// Namespaces lists the namespaces to watch; none means all. A namespace that does not
	// exist is logged, and the process is not ready until it exists.
	Namespaces []string
	// Workers is the number of concurrent syncs. The default is 5.
	Workers int
	// QPS and Burst limit the writes. The defaults are 20 per second and a burst of 30. A
	// negative QPS means no limit. Reads and the lease are not limited.
	QPS   float32
	Burst int
	// BatchPeriod is the time that the controller waits after a change of a pod before it
	// syncs the Job, so that changes of many pods cost one status write. The default is 1 s.
	BatchPeriod time.Duration
	// Decide lists options of the decisions, such as [decide.Backoff], [decide.MaxChanges]
	// and [decide.FillFreeSlots].
	Decide []decide.Option
	// DecideFor returns further decision options for one Job, for example delays from an
	// annotation. It is called in each sync.
	DecideFor func(*batchv1.Job) []decide.Option
	// Transform removes further fields from a pod that need not be cached. It must keep the
	// metadata, and everything that the Job's pod failure policy matches. The managed fields are
	// never cached, nor most of the spec of a pod that has started, nor pods of other owners.
	Transform func(*corev1.Pod)
	// EventSource is the component that sends the events. The default is jobfate-controller.
	EventSource string
	// Manager holds the options of the manager that [NewManager] creates.
	Manager ctrl.Options
}

// complete returns the options with defaults set, and an error if they are invalid.
func (o Options) complete() (Options, error) {
	if !o.ReplaceBuiltIn {
		o.ManagedBy = cmp.Or(o.ManagedBy, DefaultManagedBy)
	}
	o.Workers = cmp.Or(o.Workers, 5)
	o.QPS, o.Burst = cmp.Or(o.QPS, 20), cmp.Or(o.Burst, 30)
	o.BatchPeriod = cmp.Or(o.BatchPeriod, defaultBatchPeriod)
	o.EventSource = cmp.Or(o.EventSource, "jobfate-controller")
	if len(o.Namespaces) == 0 {
		o.Namespaces = []string{metav1.NamespaceAll}
	}
	return o, o.validate().ToAggregate()
}

func (o *Options) validate() (errs field.ErrorList) {
	path := field.NewPath("managedBy")
	switch {
	case o.ReplaceBuiltIn && o.ManagedBy != "":
		errs = append(errs, field.Invalid(path, o.ManagedBy,
			"must be empty with ReplaceBuiltIn: the Jobs of the built-in controller name no controller"))
	case !o.ReplaceBuiltIn:
		errs = append(errs, utilvalidation.IsDomainPrefixedPath(path, o.ManagedBy)...)
	}
	if len(o.ManagedBy) > validation.MaxManagedByLength {
		errs = append(errs, field.TooLong(path, o.ManagedBy, validation.MaxManagedByLength))
	}
	if o.ManagedBy == batchv1.JobControllerName {
		errs = append(errs, field.Invalid(path, o.ManagedBy,
			"the built-in controller runs these Jobs; to run them, set ReplaceBuiltIn"))
	}
	for _, number := range []struct {
		name  string
		value int64
	}{{"workers", int64(o.Workers)}, {"burst", int64(o.Burst)}, {"batchPeriod", int64(o.BatchPeriod)}} {
		if number.value < 0 {
			errs = append(errs, field.Invalid(field.NewPath(number.name), number.value, "must not be negative"))
		}
	}
	for i, namespace := range o.Namespaces {
		path := field.NewPath("namespaces").Index(i)
		if slices.Contains(o.Namespaces[:i], namespace) {
			errs = append(errs, field.Duplicate(path, namespace))
		}
		if namespace == metav1.NamespaceAll && len(o.Namespaces) == 1 {
			continue
		}
		for _, problem := range utilvalidation.IsDNS1123Label(namespace) {
			errs = append(errs, field.Invalid(path, namespace, problem))
		}
	}
	return append(append(errs, o.checkLease()...), o.tryDecide()...)
}

// checkLease returns the errors in the lease of the manager. With some of them the process would wait
// forever to lead.
func (o *Options) checkLease() (errs field.ErrorList) {
	m, path := &o.Manager, field.NewPath("manager")
	for _, name := range []struct {
		path  *field.Path
		value string
		check func(string) []string
	}{
		{path.Child("leaderElectionID"), m.LeaderElectionID, utilvalidation.IsDNS1123Subdomain},
		{path.Child("leaderElectionNamespace"), m.LeaderElectionNamespace, utilvalidation.IsDNS1123Label},
	} {
		if name.value == "" {
			continue
		}
		for _, problem := range name.check(name.value) {
			errs = append(errs, field.Invalid(name.path, name.value, problem))
		}
	}
	// The defaults of controller-runtime.
	lease, renew := ptr.Deref(m.LeaseDuration, 15*time.Second), ptr.Deref(m.RenewDeadline, 10*time.Second)
	retry := ptr.Deref(m.RetryPeriod, 2*time.Second)
	if retry <= 0 {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), retry.String(), "must be positive"))
	}
	if float64(renew) <= leaderelection.JitterFactor*float64(retry) {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), renew.String(),
			fmt.Sprintf("must be longer than %.1f times the retry period, %s", leaderelection.JitterFactor, retry)))
	}
	if lease <= renew || lease < time.Second {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), lease.String(),
			fmt.Sprintf("must be at least a second, and longer than the renew deadline, %s", renew)))
	}
	return errs
}

// tryDecide returns the errors in the options of the decisions, which would otherwise appear only
// once there is a Job.
func (o *Options) tryDecide() field.ErrorList {
	labels := map[string]string{"job": "trial"}
	trial := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "trial", UID: "trial"}, Spec: batchv1.JobSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
	}}
	options := append(o.Decide[:len(o.Decide):len(o.Decide)], decide.ManagedBy(""))
	var input *decide.InputError
	_, err := decide.Job(decide.Snapshot{Job: trial, Now: time.Unix(1, 0)}, options...)
	if errors.As(err, &input) {
		return input.Fields
	}
	return nil
}

// managerOptions returns the options of a manager for this controller alone.
func (o *Options) managerOptions() ctrl.Options {
	m := o.Manager
	m.LeaderElectionID = cmp.Or(m.LeaderElectionID, LeaseName(o.ManagedBy))
	// The process ends when the manager does, so nothing acts without the lease.
	m.LeaderElectionReleaseOnCancel = true
	if m.GracefulShutdownTimeout == nil {
		m.GracefulShutdownTimeout = new(requestTimeout + 5*time.Second)
	}
	return m
}

// ManagerFlags defines the usual flags of a program with a manager, and returns the options that they set.
func ManagerFlags(flags *flag.FlagSet) *ctrl.Options {
	o := &ctrl.Options{}
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "elect a leader, so that only one of several replicas acts")
	flags.StringVar(&o.Metrics.BindAddress, "metrics-bind-address", ":8080", "the address that serves metrics; 0: none")
	flags.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"the address that serves /healthz and /readyz; 0: none")
	return o
}

// LeaseName returns the name of the lease of the controller that runs the Jobs with a name
// in spec.managedBy. Each name has its own lease. Characters that are not allowed in a
// lease name are replaced, and a hash keeps the names distinct.
func LeaseName(managedBy string) string {
	managedBy = cmp.Or(managedBy, batchv1.JobControllerName)
	if regexp.MustCompile(`^[a-z0-9.]+/[a-z0-9]+$`).MatchString(managedBy) {
		return strings.Replace(managedBy, "/", "-", 1)
	}
	plain := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(managedBy), "-")
	return fmt.Sprintf("%s-%.4x", plain, sha256.Sum256([]byte(managedBy)))
}
