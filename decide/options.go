package decide

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/tracking"
)

// Option changes decisions. Without options they are those of the Kubernetes Job controller with its default
// settings. An invalid value of an option is an [InputError] of the decision. The zero Option changes nothing.
type Option struct{ *setting }

// setting is what an option sets: all, or what a function changes.
type setting struct {
	all    *config
	change func(*config)
}

func option(change func(*config)) Option { return Option{&setting{change: change}} }

// config holds the options of the caller.
type config struct {
	Controller   tracking.Controller // an empty kind is an error
	Backoff      backoff.Policy
	UncountedCap int // 0: classify.DefaultCap
	ChangesCap   int // 0: defaultChanges
	RemovalsCap  int // 0: no cap
	BatchPeriod  time.Duration
	Throttle     throttle
	classify.Options
	Granular      bool
	FillFreeSlots bool
}

// defaultChanges is the default of MaxChanges.
const defaultChanges = 500

// throttle is the setting of Throttle.
type throttle struct {
	Every time.Duration
	Share float64
}

// defaults holds the settings of the Job controller.
var defaults = &config{
	Controller:  tracking.Controller{Kind: batchv1.SchemeGroupVersion.WithKind("Job")},
	BatchPeriod: time.Second,
}

// configure returns the settings of the Job controller with the options applied. It returns those of a single Options
// as they are.
func configure(opts []Option) *config {
	switch {
	case len(opts) == 0, len(opts) == 1 && opts[0].setting == nil:
		return defaults
	case len(opts) == 1 && opts[0].all != nil:
		return opts[0].all
	}
	c := *defaults
	for _, o := range opts {
		switch {
		case o.setting == nil:
		case o.all != nil:
			c = *o.all
		default:
			o.change(&c)
		}
	}
	return &c
}

// Options returns several options as one, which is cheaper to use again. It replaces the options before it.
func Options(opts ...Option) Option { return Option{&setting{all: configure(opts)}} }

// Controller returns the controller that acts with these options.
func (o Option) Controller() tracking.Controller { return configure([]Option{o}).Controller }

// BatchPeriod returns the period that the options set.
func (o Option) BatchPeriod() time.Duration { return configure([]Option{o}).BatchPeriod }

// ManagedBy sets the name by which spec.managedBy refers to the caller. Without this option, or
// with an empty name, the caller acts as the built-in controller.
func ManagedBy(name string) Option {
	return option(func(c *config) { c.Controller.Name = name })
}

// OwnerKind sets the kind of the objects that own the pods, for a caller that runs
// custom resources as Jobs. The default is batch/v1 Job. The caller must name the kind,
// because objects from typed clients and caches have an empty TypeMeta. An empty kind is
// an error.
func OwnerKind(kind schema.GroupVersionKind) Option {
	return option(func(c *config) { c.Controller.Kind = kind })
}

// Keys sets the names of the finalizer, labels, annotations and the index variable that
// the caller puts on its pods. An empty name means that of Kubernetes. Use Keys for a
// custom resource whose pods another Job controller must not treat as its own. A name that
// the API server would reject is an error, and so are two annotations or two labels with
// the same name. Do not change the keys while pods exist: pods with other keys are not
// counted.
func Keys(k tracking.Keys) Option {
	return option(func(c *config) { c.Controller.Keys = k })
}

// Backoff sets the base, cap and factor of the delay before a failed pod is
// replaced. The default is 10 s, 10 min and 2.
func Backoff(p backoff.Policy) Option {
	return option(func(c *config) { c.Backoff = p })
}

// MaxUncounted sets how many UIDs the uncounted lists may hold. The default, also with 0, is
// 500. Failed pods that do not fit are added to the backoff again in each sync, as in the Job controller, so a low
// number makes delays longer. [MaxRemovals] does not.
func MaxUncounted(n int) Option {
	return option(func(c *config) { c.UncountedCap = n })
}

// MaxChanges sets how many pods one decision may create, and how many surplus pods it may
// delete. The default, also with 0, is 500. Only that many of the lowest indexes without a pod are checked, so with a
// low number an index that backs off blocks later ones, unless [FillFreeSlots] is set.
func MaxChanges(n int) Option {
	return option(func(c *config) { c.ChangesCap = n })
}

// MaxRemovals sets how many finalizers one decision removes in Strip, so that a sync
// takes a bounded time. Without it, and with 0, only MaxUncounted bounds the removals. MaxUncounted
// does not bound pods that are not recorded: pods of a Job that has ended or is being deleted, and
// pods that a rule ignores.
func MaxRemovals(n int) Option {
	return option(func(c *config) { c.RemovalsCap = n })
}

// BatchPeriod sets the time until the next sync while the last status write is not observed or a
// cap has left work, and the least such time for a Job that backs off. The default is 1 s. It does not
// delay the events of pods: that is for the caller's queue.
func BatchPeriod(d time.Duration) Option {
	return option(func(c *config) { c.BatchPeriod = d })
}

// Throttle delays a status write that comes before the given time since Snapshot.LastStatus and records few pods: at
// most that share of parallelism. KEP-2307 § Algorithm allows skipping the counting "in the scenario where a status
// update happened too recently and the number of uncounted Pods is a small percentage of parallelism". By default, and
// with 0, no write is delayed.
func Throttle(every time.Duration, share float64) Option {
	return option(func(c *config) { c.Throttle = throttle{every, share} })
}

// FailurePolicy replaces the pod failure policy of the Job's spec. Use it for rules that the API
// cannot express: rules with a name or with a matcher. The names appear in reasons only with
// GranularReasons. RuleNames does not apply to these rules. A name that
// failurepolicy.Spec.CheckNames rejects is an error. With nil, the policy of the spec applies. The
// policy must not change while a Machine has it: pass another one to Begin. If both this and
// [WithoutFailurePolicy] are given, the last one applies.
func FailurePolicy(s *failurepolicy.Spec) Option {
	return option(func(c *config) { c.FailurePolicy, c.WithoutPolicy = s, false })
}

// RuleNames names the rules of the Job's own pod failure policy, in their order. An empty name leaves a rule without a
// name. A name that the Job's own policy has, see failurepolicy.FromAPI, takes precedence. RuleNames switches on
// granular reasons. A name that failurepolicy.Spec.CheckNames rejects is an error, and so are more names than rules. If
// the Job has no policy, the names have no effect. [GranularReasons] says which frameworks cannot handle such reasons.
func RuleNames(names ...string) Option {
	names = slices.Clone(names)
	return option(func(c *config) { c.RuleNames, c.Granular = names, true })
}

// GranularReasons puts the rule that failed a Job into the reason of its conditions:
// PodFailurePolicy_{name}, or PodFailurePolicy_{index} for a rule without a name
// (KEP-4443).
//
// Do not use it for Jobs of a framework that compares the reason with PodFailurePolicy. In JobSet a
// rule on that reason then no longer applies, and the default restarts all Jobs of the set; its
// webhook rejects a rule on another reason. In JobSet, a rule on the message tells the rules apart
// without this option. docs/divergences.md lists frameworks.
func GranularReasons() Option {
	return option(func(c *config) { c.Granular = true })
}

// WithoutPerIndexBackoff decides as if spec.backoffLimitPerIndex were not set and no rule said
// FailIndex (KEP-3850 § Feature Enablement and Rollback). Beside backoffLimitPerIndex the API
// server defaults backoffLimit to MaxInt32: failed pods are then replaced without end, unless a
// user lowers it.
//
// Servers up to 1.32 can switch the gate JobBackoffLimitPerIndex off; 1.33 locks it and 1.37 has
// removed it.
func WithoutPerIndexBackoff() Option {
	return option(func(c *config) { c.WithoutPerIndex = true })
}

// WithoutFailurePolicy decides as if spec.podFailurePolicy were not set: every failure counts, and
// spec.podReplacementPolicy alone decides when a pod is replaced. With any policy, even without rules,
// a pod is replaced only once it has failed. The API server defaults podReplacementPolicy to Failed if
// the Job has a policy.
//
// No supported server can switch the gate JobPodFailurePolicy off: 1.31 locks it.
func WithoutFailurePolicy() Option {
	return option(func(c *config) { c.FailurePolicy, c.WithoutPolicy = nil, true })
}

// WithoutReplacementPolicy decides as if spec.podReplacementPolicy were not
// set, and does not report terminating pods. A Job with a pod failure policy
// still replaces a pod only once it has failed.
//
// Servers up to 1.33 can switch the gate JobPodReplacementPolicy off; 1.34 locks it and 1.37 has
// removed it.
func WithoutReplacementPolicy() Option {
	return option(func(c *config) { c.WithoutReplacement = true })
}

// FillFreeSlots creates pods for indexes that are ready while lower indexes are backing
// off. The Job controller picks the lowest pending indexes before it checks their delays,
// so indexes in backoff block others.
func FillFreeSlots() Option {
	return option(func(c *config) { c.FillFreeSlots = true })
}

// FailLostPods counts a pod on a lost node as failed once it has been terminating for the given
// time after its grace period, as if it had the phase Failed. The Job controller waits for such a
// pod without end if the Job replaces only failed pods (kubernetes#134038), and so does jobfate by
// default and with 0. A pod does not say that its node is lost; the node counts as lost if it has
// not ended the pod in time, and the pod is not ready.
//
// On a node that is only partitioned, the containers may still run while those of the replacement
// do. Use the option only for Jobs that tolerate that. When the pod ends after all, it is not
// counted again.
func FailLostPods(after time.Duration) Option {
	return option(func(c *config) { c.LostAfter = after })
}

// SucceedOnExitZero counts a failed pod as succeeded if all its containers have exited with 0. The
// Job controller replaces it, and no rule on exit codes matches it (kubernetes#115688). The kubelet
// sets the phase Failed if it ends a pod itself: by eviction, at a shutdown or at the deadline of the
// pod. The same pod would be Succeeded if it had been deleted. A program that exits with 0 before it
// is done, because of SIGTERM, counts as succeeded in both cases.
//
// Do not switch the option off, or go back to the built-in controller, while such a pod has the
// finalizer: it would count as failed too, and the API server would refuse the status.
func SucceedOnExitZero() Option {
	return option(func(c *config) { c.ExitZero = true })
}
