package jobfate

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/tracking"
)

// Option changes how Decide decides. Without options it decides as the Job
// controller of Kubernetes does with its default settings.
type Option func(*decide.Config)

// configure fills in what the options say.
func configure(opts []Option) decide.Config {
	c := decide.DefaultConfig()
	apply(opts, &c)
	return c
}

func apply(opts []Option, c *decide.Config) {
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
}

// ManagedBy sets the spec.managedBy name that the caller answers to. Without
// it, and with an empty name, the caller stands for the built-in controller.
func ManagedBy(name string) Option {
	return func(c *decide.Config) { c.Controller.Name = name }
}

// OwnerKind sets the kind of the objects that own the pods, for a caller whose
// Jobs are objects of a kind of its own. The default is batch/v1 Job. Name the kind
// yourself: objects from typed clients and caches do not say theirs. An empty one is
// an error.
func OwnerKind(kind schema.GroupVersionKind) Option {
	return func(c *decide.Config) { c.Controller.Kind, c.NoKind = kind, kind.Kind == "" }
}

// Keys sets the names of what the caller puts on its pods: the finalizer, labels,
// annotations and the variable with the index. Empty ones are those of Kubernetes. They
// are for a kind of the caller's own whose pods another Job controller must not take for
// its own. A name that the API server would refuse is an error, and so are two annotations
// or two labels of one name. Once there are pods the keys must stay: pods with other keys
// are not counted.
func Keys(k tracking.Keys) Option {
	return func(c *decide.Config) { c.Controller.Keys = k }
}

// Backoff sets the base, cap and factor of the delay with which failed pods
// are replaced. The default is 10 s, 10 min and 2.
func Backoff(p backoff.Policy) Option {
	return func(c *decide.Config) { c.Backoff = p }
}

// MaxUncounted sets how many UIDs the uncounted lists may hold. The default is 500;
// values below 1 leave it.
func MaxUncounted(n int) Option {
	return func(c *decide.Config) {
		if n > 0 {
			c.UncountedCap = n
		}
	}
}

// MaxChanges sets how many pods one decision may create, or delete because they are
// too many. The default is 500; values below 1 leave it.
func MaxChanges(n int) Option {
	return func(c *decide.Config) {
		if n > 0 {
			c.ChangesCap = n
		}
	}
}

// MaxRemovals sets how many finalizers one decision removes in Strip, so that a look
// takes a bounded time. Without it, and with values below 1, only MaxUncounted bounds
// them, and pods that need no record have no bound: those of a Job that has ended or is
// being deleted, or that a rule ignores.
func MaxRemovals(n int) Option {
	return func(c *decide.Config) { c.RemovalsCap = max(n, 0) }
}

// BatchPeriod sets the least time to wait before looking again at a Job
// that backs off, and the time to wait for a status of the caller's own to be seen
// and for the next look at a Job of which a cap has left work.
// The default is 1 s.
func BatchPeriod(d time.Duration) Option {
	return func(c *decide.Config) { c.BatchPeriod = max(d, 0) }
}

// Throttle puts off status writes that come too soon after
// Snapshot.LastStatus and record too little. By default none is put off.
func Throttle(t tracking.Throttle) Option {
	return func(c *decide.Config) { c.Throttle = t }
}

// FailurePolicy replaces the pod failure policy of the Job's spec. It is
// for rules that the API cannot express: named ones, and ones with a matcher. The
// names show in reasons only with GranularReasons, and RuleNames gives none to these
// rules. A name that failurepolicy.Spec.CheckNames refuses is an error. Nil leaves the
// policy of the spec. Of this and [WithoutFailurePolicy] the last holds.
func FailurePolicy(s *failurepolicy.Spec) Option {
	return func(c *decide.Config) { c.FailurePolicy, c.WithoutPolicy = s, false }
}

// RuleNames gives names to the rules of the Job's own pod failure policy, by
// their order; an empty name is none. It switches on granular reasons. A name that
// failurepolicy.Spec.CheckNames refuses is an error, and so are more names than rules.
// Without a policy the names have no effect.
func RuleNames(names ...string) Option {
	return func(c *decide.Config) { c.RuleNames, c.Granular = names, true }
}

// GranularReasons makes a Job that a FailJob rule fails say which rule it was:
// PodFailurePolicy_{name}, or PodFailurePolicy_{index} for a rule without a
// name (KEP-4443).
func GranularReasons() Option {
	return func(c *decide.Config) { c.Granular = true }
}

// Names makes a [Machine] name its pods itself: make returns a name that begins with the
// prefix, which has room for five more characters. A creation without an answer is then
// found by its name. Without it the API server makes the names, and the pods are listed
// after such a creation.
func Names(make func(prefix string) string) Option {
	return func(c *decide.Config) { c.Names = make }
}

// WithoutPerIndexBackoff decides as if spec.backoffLimitPerIndex were not set
// and no rule said FailIndex (KEP-3850 § Feature Enablement and Rollback).
func WithoutPerIndexBackoff() Option {
	return func(c *decide.Config) { c.WithoutPerIndex = true }
}

// WithoutFailurePolicy decides as if spec.podFailurePolicy were not set: every failure
// counts. That differs from a policy without rules, with which only failed pods are
// replaced, as with any policy; here spec.podReplacementPolicy alone says so, for which
// the API server sets Failed beside a policy.
func WithoutFailurePolicy() Option {
	return func(c *decide.Config) { c.FailurePolicy, c.WithoutPolicy = nil, true }
}

// WithoutReplacementPolicy decides as if spec.podReplacementPolicy were not
// set, and does not report terminating pods. A Job with a pod failure policy
// still replaces only failed pods.
func WithoutReplacementPolicy() Option {
	return func(c *decide.Config) { c.WithoutReplacement = true }
}

// FillFreeSlots lets indexes that are ready to run take the place of lower ones
// that are backing off. The Job controller picks the lowest pending indexes
// before it looks at their delays, so that indexes in backoff hold back others.
func FillFreeSlots() Option {
	return func(c *decide.Config) { c.FillFreeSlots = true }
}
