package decide

import (
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// problems lists the errors about an input.
type problems field.ErrorList

// require adds an error about a required field that is missing.
func (p *problems) require(present bool, why string, path ...string) {
	if !present {
		*p = append(*p, field.Required(field.NewPath(path[0], path[1:]...), why))
	}
}

// invalid adds an error about a field, without the value of the field.
func (p *problems) invalid(why string, path ...string) {
	*p = append(*p, field.Invalid(field.NewPath(path[0], path[1:]...), field.OmitValueType{}, why))
}

// notNegative adds an error if a value is negative. Nil is valid.
func notNegative[T int32 | int64](p *problems, value *T, path ...string) {
	if value != nil && *value < 0 {
		*p = append(*p, field.Invalid(field.NewPath(path[0], path[1:]...), *value,
			"must be greater than or equal to 0"))
	}
}

// check validates the input except its pods, and returns the classifier of the Job's pods.
// It validates the pods only to report their errors with the others.
func (t *Pods) check(in *Snapshot, c *config) (of classify.Classifier, err error) {
	var p problems
	job := in.Job
	p.require(job != nil, "the snapshot has no Job", "job")
	if job == nil {
		return of, &InputError{field.ErrorList(p)}
	}
	if !c.Controller.Manages(job) {
		return of, fmt.Errorf("spec.managedBy: %w: %s", ErrNotManaged,
			valueOf(job.Spec.ManagedBy, batchv1.JobControllerName))
	}
	p.require(c.Controller.Kind.Kind != "", "objects from typed clients have an empty kind", "OwnerKind", "kind")
	if own := c.Controller.Keys; own != (tracking.Keys{}) {
		p = append(p, own.Check(field.NewPath("Keys"))...)
	}
	p.options(c)
	p.require(!in.Now.IsZero(), "timestamps in the status are set to it", "now") // the API server rejects a zero time
	p.require(job.Name != "", "pods are named after the Job", "metadata", "name")
	p.require(job.UID != "", "pods are recognised by the UID of their Job", "metadata", "uid")
	p.spec(&job.Spec)
	p.ruleNames(job.Spec.PodFailurePolicy, c)
	of = p.classifier(job, c, in.Now)
	if jobstatus.Finished(job) == nil {
		p.status(&job.Status)
	}
	if len(p) > 0 {
		return of, &InputError{append(field.ErrorList(p), checkPods(t.List())...)}
	}
	return of, nil
}

// options validates the numbers in the options.
func (p *problems) options(c *config) {
	const notNegative, factor = "must be greater than or equal to 0", "must be 0, or greater than or equal to 1"
	for _, o := range [...]struct {
		valid     bool // not if the value is NaN
		path, why string
	}{
		{c.UncountedCap >= 0, "MaxUncounted", notNegative},
		{c.ChangesCap >= 0, "MaxChanges", notNegative},
		{c.RemovalsCap >= 0, "MaxRemovals", notNegative},
		{c.BatchPeriod >= 0, "BatchPeriod", notNegative},
		{c.LostAfter >= 0, "FailLostPods", notNegative},
		{c.Backoff.Base >= 0, "Backoff.base", notNegative},
		{c.Backoff.Cap >= 0, "Backoff.cap", notNegative},
		{c.Backoff.Factor == 0 || c.Backoff.Factor >= 1, "Backoff.factor", factor},
		{c.Throttle.Every >= 0, "Throttle.every", notNegative},
		{c.Throttle.Share >= 0, "Throttle.share", notNegative},
	} {
		if !o.valid {
			p.invalid(o.why, o.path)
		}
	}
}

func (p *problems) spec(spec *batchv1.JobSpec) {
	notNegative(p, spec.Parallelism, "spec", "parallelism")
	notNegative(p, spec.Completions, "spec", "completions")
	notNegative(p, spec.BackoffLimit, "spec", "backoffLimit")
	notNegative(p, spec.BackoffLimitPerIndex, "spec", "backoffLimitPerIndex")
	notNegative(p, spec.MaxFailedIndexes, "spec", "maxFailedIndexes")
	notNegative(p, spec.ActiveDeadlineSeconds, "spec", "activeDeadlineSeconds")
	if mode := spec.CompletionMode; mode != nil && *mode != batchv1.IndexedCompletion &&
		*mode != batchv1.NonIndexedCompletion {
		*p = append(*p, field.NotSupported(field.NewPath("spec", "completionMode"), string(*mode),
			[]string{string(batchv1.IndexedCompletion), string(batchv1.NonIndexedCompletion)}))
	}
	p.require(!jobstatus.IsIndexed(spec) || spec.Completions != nil || spec.Parallelism == nil,
		"when completion mode is Indexed", "spec", "completions")
}

// classifier returns the classifier of the Job's pods. It rejects a Job whose selector does not
// match its own template: each new pod would be released and replaced, without end.
func (p *problems) classifier(job *batchv1.Job, c *config, now time.Time) classify.Classifier {
	options := c.Options
	options.Now = now
	of, err := classify.Of(job, c.Controller.Keys, options)
	switch {
	case err != nil:
		p.invalid(errors.Unwrap(err).Error(), "spec", "selector")
	case !of.Selects(job.Spec.Template.Labels):
		p.invalid("the selector does not match them", "spec", "template", "metadata", "labels")
	}
	return of
}

func (p *problems) status(status *batchv1.JobStatus) {
	notNegative(p, &status.Active, "status", "active")
	notNegative(p, &status.Succeeded, "status", "succeeded")
	notNegative(p, &status.Failed, "status", "failed")
	notNegative(p, status.Ready, "status", "ready")
	notNegative(p, status.Terminating, "status", "terminating")
	met, target := batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget
	if jobstatus.True(status.Conditions, met) != nil && jobstatus.True(status.Conditions, target) != nil {
		p.invalid(fmt.Sprintf("%s and %s are both True; the API server lets neither be removed", met, target),
			"status", "conditions")
	}
}

// ruleNames validates the rule names in the options. RuleNames has no effect on a Job
// without a policy (KEP-4443), but is validated nevertheless.
func (p *problems) ruleNames(own *batchv1.PodFailurePolicy, c *config) {
	*p = append(*p, failurepolicy.RuleNames(c.FailurePolicy, field.NewPath("FailurePolicy"))...)
	if len(c.RuleNames) == 0 {
		return
	}
	path, names := field.NewPath("RuleNames"), len(c.RuleNames)
	rules := names
	if own != nil {
		rules = len(own.Rules)
	}
	if names > rules {
		*p = append(*p, field.TooMany(path, names, rules))
	}
	named := failurepolicy.FromAPI(&batchv1.PodFailurePolicy{Rules: make([]batchv1.PodFailurePolicyRule,
		max(rules, names))}, c.RuleNames...)
	*p = append(*p, named.CheckNames(path.Index)...)
}

// check validates the pods.
func (f *InFlight) check() (errs field.ErrorList) {
	if len(f.Pods) < 2 {
		return nil
	}
	seen := make(map[types.UID]bool, len(f.Pods))
	for i, pod := range f.Pods {
		if seen[pod.UID] {
			errs = append(errs, field.Duplicate(field.NewPath("inFlight", "pods").Index(i).Child("uid"), pod.UID))
		}
		seen[pod.UID] = true
	}
	return errs
}

// checkPods validates the pods.
func checkPods(pods []*corev1.Pod) (errs field.ErrorList) {
	path, seen := field.NewPath("pods"), make(map[types.UID]bool, len(pods))
	for i, pod := range pods {
		switch {
		case pod == nil:
			errs = append(errs, field.Required(path.Index(i), "the pod is nil"))
		case pod.UID == "":
			errs = append(errs, field.Required(path.Index(i).Child("metadata", "uid"), "pods are counted by their UID"))
		case seen[pod.UID]:
			errs = append(errs, field.Duplicate(path.Index(i).Child("metadata", "uid"), pod.UID))
		default:
			seen[pod.UID] = true
		}
	}
	return errs
}
