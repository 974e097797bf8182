package classify

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// kubernetes holds the names of the built-in Job controller. They take 112 bytes, and most classifiers use them.
var kubernetes = tracking.Keys{}.WithDefaults()

// Options holds the options of a controller that decide how the pods of its Jobs are
// classified.
type Options struct {
	// FailurePolicy replaces the policy of the Job. RuleNames names the rules of the
	// Job's policy.
	FailurePolicy *failurepolicy.Spec
	RuleNames     []string
	// With WithoutPolicy the pod failure policy has no effect, with WithoutPerIndex the backoff
	// limit per index, and with WithoutReplacement the podReplacementPolicy.
	WithoutPolicy      bool
	WithoutPerIndex    bool
	WithoutReplacement bool
	// ExitZero says that a failed pod has succeeded if all its containers have exited with 0.
	ExitZero bool
	// LostAfter is the time after which a pod on a lost node counts as failed; 0 for never. Now is
	// the time at which pods are classified. See [Classifier.UntilLost].
	LostAfter time.Duration
	Now       time.Time
}

// Classifier holds what decides how a pod is classified: fields of the Job, and options of
// its controller. It never changes. [Classifier.ClassifiesAs] compares every field.
type Classifier struct {
	// Limit is the backoff limit. A limit per index decides whether a failure fails
	// the index.
	Limit backoff.Limit
	// Indexed and Completions decide which indexes are valid.
	Completions int32
	Indexed     bool
	// ReplaceFailedOnly says that a pod counts as failed only once it has the phase
	// Failed, not already when its deletion begins (KEP-3939).
	ReplaceFailedOnly bool
	// CountRestarts says that container restarts count, as they do with the restart
	// policy OnFailure.
	CountRestarts bool
	// Policy is the pod failure policy in force; nil for none.
	Policy *failurepolicy.Spec
	// Uncounted holds the lists of the status.
	Uncounted Uncounted

	keys     *tracking.Keys // nil for those of Kubernetes
	job      identity
	selector selector // if absent, the controller reference alone decides
	from     origin   // what Policy and selector are made from
}

// identity holds the fields of a Job that decide which pods belong to it, besides the selector.
type identity struct {
	uid                types.UID
	namespace, name    string
	deleting, finished bool
}

// origin holds the objects that a Classifier is made from. Origins are compared in depth, but
// matchers in two policies are never equal.
type origin struct {
	selector *metav1.LabelSelector
	policy   *batchv1.PodFailurePolicy
	options  Options
}

// Of returns the classifier of a Job. A Job that the API server would reject, because it
// is Indexed and has parallelism but no completions, is read as one that is not Indexed. If there
// is no Job or its selector is invalid, Of also returns an error: no pod then belongs to
// the Job.
func Of(job *batchv1.Job, keys tracking.Keys, o Options) (c Classifier, err error) {
	if job == nil {
		return Classifier{}, errors.New("there is no Job")
	}
	spec, policy, one := &job.Spec, o.policy(&job.Spec), int32(1)
	o.RuleNames = slices.Clone(o.RuleNames) // the caller may change them
	c = Classifier{
		Limit: backoff.LimitOf(spec),
		// KEP-3939: with a pod failure policy only failed pods are replaced, since rules
		// are matched against terminated pods only.
		ReplaceFailedOnly: policy != nil || !o.WithoutReplacement && spec.PodReplacementPolicy != nil &&
			*spec.PodReplacementPolicy == batchv1.Failed,
		CountRestarts: spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Policy:        policy,
		Uncounted:     ReadUncounted(job.Status.UncountedTerminatedPods),
		job: identity{job.UID, job.Namespace, job.Name, job.DeletionTimestamp != nil,
			jobstatus.Finished(job) != nil},
		from: origin{spec.Selector, spec.PodFailurePolicy, o},
	}
	keys = keys.WithDefaults()
	if keys != kubernetes {
		own := keys // not keys itself, for which each call would allocate memory
		c.keys = &own
	}
	if o.WithoutPerIndex {
		c.Limit = backoff.Limit{Target: backoff.TargetJob, PerJob: c.Limit.PerJob} // KEP-3850, Downgrade and Rollback
	}
	if jobstatus.IsIndexed(spec) && (spec.Completions != nil || spec.Parallelism == nil) {
		c.Indexed, c.Completions = true, *cmp.Or(spec.Completions, &one)
	}
	c.selector, err = compileSelector(spec.Selector, label{keys.ControllerUID, string(job.UID)})
	if err != nil {
		c.job = identity{} // no pod is known to belong to the Job
	}
	return c, err
}

// Keys returns the names that the controller uses, none of which is empty.
func (c *Classifier) Keys() *tracking.Keys { return cmp.Or(c.keys, &kubernetes) }

// policy returns the pod failure policy in force: the controller's, or the Job's with the
// controller's names; nil if there is none. Without a backoff limit per index it clears the
// action of FailIndex rules, so that they never match and a later rule may match (KEP-3850,
// Rollback). All rules keep their positions.
func (o *Options) policy(spec *batchv1.JobSpec) *failurepolicy.Spec {
	if o.WithoutPolicy {
		return nil
	}
	policy := o.FailurePolicy
	if policy == nil {
		policy = failurepolicy.FromAPI(spec.PodFailurePolicy, o.RuleNames...)
	}
	if policy != nil && o.WithoutPerIndex {
		policy = &failurepolicy.Spec{Rules: slices.Clone(policy.Rules)}
		for i := range policy.Rules {
			if r := &policy.Rules[i]; r.Action == batchv1.PodFailurePolicyActionFailIndex {
				r.Action = ""
			}
		}
	}
	return policy
}

// ClassifiesAs reports whether a classifier classifies all pods as another does, except for those
// that only one of them lists as uncounted, and those that are lost only at the time of one.
func (c *Classifier) ClassifiesAs(o *Classifier) bool {
	a, b := &c.from.options, &o.from.options
	return c.job == o.job && *c.Keys() == *o.Keys() && c.Indexed == o.Indexed && c.Completions == o.Completions &&
		c.Limit == o.Limit && c.ReplaceFailedOnly == o.ReplaceFailedOnly && c.CountRestarts == o.CountRestarts &&
		a.WithoutPolicy == b.WithoutPolicy && a.WithoutPerIndex == b.WithoutPerIndex &&
		a.WithoutReplacement == b.WithoutReplacement && a.ExitZero == b.ExitZero && a.LostAfter == b.LostAfter &&
		slices.Equal(a.RuleNames, b.RuleNames) &&
		same(c.from.selector, o.from.selector) && same(c.from.policy, o.from.policy) &&
		same(a.FailurePolicy, b.FailurePolicy)
}

func same[T any](a, b *T) bool { return a == b || reflect.DeepEqual(a, b) }

// LosesPods reports whether pods can be lost.
func (c *Classifier) LosesPods() bool { return c.from.options.LostAfter > 0 }

// PerIndex reports whether the Job has a backoff limit per index.
func (c *Classifier) PerIndex() bool { return c.Indexed && c.Limit.Target == backoff.TargetIndex }

// Classes holds some of the classes, and their matches, so that records share them: most pods of a
// Job are in few classes. The zero value is ready to use.
type Classes struct{ known []*Class }

// record returns the record of a pod in a class.
func (s *Classes) record(pod *corev1.Pod, index int32, class Class) PodRecord {
	for _, c := range s.known {
		if *c == class {
			return PodRecord{pod, c, index}
		}
	}
	shared := class
	if len(s.known) == 16 { // failed pods may differ in their counts and matches
		s.known = nil
	}
	s.known = append(s.known, &shared)
	return PodRecord{pod, &shared, index}
}

// match returns the rule that a failed pod matches, without the name of the pod; nil if no rule
// matches.
func (s *Classes) match(pod *corev1.Pod, policy *failurepolicy.Spec) *failurepolicy.Match {
	match := policy.Match(pod)
	if !match.Matched() {
		return nil
	}
	match.Pod = types.NamespacedName{}
	for _, c := range s.known {
		if c.match != nil && *c.match == match {
			return c.match
		}
	}
	shared := match
	return &shared
}

// Classify classifies a pod with the given relation to the Job. stripped says that the
// finalizer of the pod has been removed, although the pod still shows it. Pass the same
// Classes for all pods of a Job.
func (c *Classifier) Classify(pod *corev1.Pod, relation Relation, stripped bool, shared *Classes) PodRecord {
	r := Class{Relation: relation}
	if !relation.Own() {
		return shared.record(pod, 0, r)
	}
	index := tracking.NoIndex
	if c.Indexed {
		index = c.Keys().IndexOf(pod)
	}
	r.Valid = !c.Indexed || index != tracking.NoIndex && index < c.Completions
	// The patch that adopts a pod adds the finalizer.
	r.Finalized = relation == Adoptable || c.Keys().HasFinalizer(pod)
	r.Tracked = r.Finalized && !stripped
	switch {
	case pod.Status.Phase == corev1.PodSucceeded,
		pod.Status.Phase == corev1.PodFailed && c.from.options.ExitZero && exitedZero(pod):
		r.Succeeded = true
	case pod.Status.Phase == corev1.PodFailed:
		r.Failed = true
	case pod.DeletionTimestamp != nil:
		r.Lost = c.UntilLost(pod) <= 0
		r.Terminating = !r.Lost
		r.Failed = r.Lost || !c.ReplaceFailedOnly
	default:
		r.Active = true
		r.Ready = ready(pod)
	}
	if failed, listed := c.Uncounted.Listed[pod.UID]; listed && r.Finalized {
		r.Listed = true
		// The list overrules the phase. A listed pod that has not finished keeps its state, and counts as
		// listed when it finishes. Such pods exist in a failing Job, which lists unfinished pods too, and
		// after an edit of the status.
		if r.Succeeded || r.Failed {
			r.Succeeded, r.Failed = !failed, failed
		}
	}
	if r.Failed {
		if c.PerIndex() {
			r.Counts = CountsOf(c.Keys(), pod.Annotations)
			r.Exhausted = c.Limit.IndexExhausted(r.Counts.Failures)
		}
		r.match = shared.match(pod, c.Policy)
	}
	return shared.record(pod, index, r)
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// exitedZero reports whether each container of the spec has exited with 0. As for the kubelet, how
// the init containers have ended does not matter then.
func exitedZero(pod *corev1.Pod) bool {
	statuses := pod.Status.ContainerStatuses
	return len(statuses) >= max(1, len(pod.Spec.Containers)) &&
		!slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool {
			return s.State.Terminated == nil || s.State.Terminated.ExitCode != 0
		})
}

// Never is what UntilLost returns for a pod that is not on a lost node.
const Never = time.Duration(math.MaxInt64)

// UntilLost returns the time until a pod that is being deleted counts as lost, which is not
// positive once it does. LostAfter begins at the deletion timestamp, the end of the grace period:
// a kubelet has killed the containers by then. A pod that has no node, or is ready, is not on a
// lost node: the node lifecycle controller sets Ready to False on a node without heartbeats.
func (c *Classifier) UntilLost(pod *corev1.Pod) time.Duration {
	o := &c.from.options
	if o.LostAfter == 0 || pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" || ready(pod) {
		return Never
	}
	return pod.DeletionTimestamp.Add(o.LostAfter).Sub(o.Now)
}
