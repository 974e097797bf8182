package decide

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/internal/owner"
)

// ErrNotManaged is the error for a Job that another controller manages.
var ErrNotManaged = errors.New("the Job is managed by another controller")

// InputError is the error for an invalid input.
type InputError struct{ Fields field.ErrorList }

// Error returns the errors of all fields.
func (e *InputError) Error() string { return e.Fields.ToAggregate().Error() }

// check validates the input except its pods, and returns the owner that recognises the
// Job's pods. It validates the pods only to report their errors with the others.
func (t *Tally) check(in *Input, c *Config) (owner.Owner, error) {
	if in.Job == nil {
		return owner.Owner{}, &InputError{field.ErrorList{field.Required(field.NewPath("job"), "the snapshot has no Job")}}
	}
	if !c.Controller.Manages(in.Job) {
		return owner.Owner{}, fmt.Errorf("spec.managedBy: %w: %s", ErrNotManaged, managerOf(in.Job))
	}
	errs := checkCaller(in, c)
	errs = append(errs, checkIdentity(in.Job)...)
	errs = append(errs, checkSpec(&in.Job.Spec)...)
	errs = append(errs, checkNames(in.Job.Spec.PodFailurePolicy, c)...)
	job, ownerErrs := ownerOf(in.Job, c)
	errs = append(errs, ownerErrs...)
	if lifecycle.Finished(in.Job) == nil {
		errs = append(errs, checkStatus(&in.Job.Status)...)
	}
	if len(errs) > 0 {
		return job, &InputError{append(errs, checkPods(t.Pods())...)}
	}
	return job, nil
}

func managerOf(job *batchv1.Job) string {
	if job.Spec.ManagedBy == nil {
		return batchv1.JobControllerName
	}
	return *job.Spec.ManagedBy
}

// checkCaller validates what the caller sets: the options and the clock. The API server
// would reject every status that contains a zero time.
func checkCaller(in *Input, c *Config) (errs field.ErrorList) {
	if c.NoKind {
		errs = append(errs, field.Required(field.NewPath("OwnerKind").Child("kind"), "objects from typed clients have an empty kind"))
	}
	if own := keys.Keys(c.Controller.Keys); own != (keys.Keys{}) {
		errs = append(errs, own.Check(field.NewPath("Keys"))...)
	}
	if in.Now.IsZero() {
		errs = append(errs, field.Required(field.NewPath("now"), "timestamps in the status are set to it"))
	}
	return errs
}

func checkIdentity(job *batchv1.Job) (errs field.ErrorList) {
	if job.Name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "pods are named after the Job"))
	}
	if job.UID == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "uid"), "pods are recognised by the UID of their Job"))
	}
	return errs
}

func checkSpec(spec *batchv1.JobSpec) (errs field.ErrorList) {
	errs = checkNumbers("spec", []number{
		{"parallelism", spec.Parallelism},
		{"completions", spec.Completions},
		{"backoffLimit", spec.BackoffLimit},
		{"backoffLimitPerIndex", spec.BackoffLimitPerIndex},
		{"maxFailedIndexes", spec.MaxFailedIndexes},
	})
	if s := spec.ActiveDeadlineSeconds; s != nil && *s < 0 {
		errs = append(errs, negative(field.NewPath("spec", "activeDeadlineSeconds"), *s))
	}
	if mode := spec.CompletionMode; mode != nil && *mode != batchv1.IndexedCompletion && *mode != batchv1.NonIndexedCompletion {
		errs = append(errs, field.NotSupported(field.NewPath("spec", "completionMode"), string(*mode),
			[]string{string(batchv1.IndexedCompletion), string(batchv1.NonIndexedCompletion)}))
	}
	if lifecycle.IsIndexed(spec) && spec.Completions == nil && spec.Parallelism != nil {
		errs = append(errs, field.Required(field.NewPath("spec", "completions"), "when completion mode is Indexed"))
	}
	return errs
}

// ownerOf returns the owner that recognises the Job's pods. It rejects a Job whose
// selector does not match its own template: each new pod would be released and another
// one created, without end.
func ownerOf(job *batchv1.Job, c *Config) (owner.Owner, field.ErrorList) {
	o, err := owner.Of(job, keys.Keys(c.Controller.Keys))
	if err != nil {
		return o, field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), field.OmitValueType{}, errors.Unwrap(err).Error())}
	}
	if !o.Selects(job.Spec.Template.Labels) {
		return o, field.ErrorList{field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), field.OmitValueType{},
			"the selector does not match them")}
	}
	return o, nil
}

func checkStatus(status *batchv1.JobStatus) (errs field.ErrorList) {
	errs = checkNumbers("status", []number{
		{"active", &status.Active},
		{"succeeded", &status.Succeeded},
		{"failed", &status.Failed},
		{"ready", status.Ready},
		{"terminating", status.Terminating},
	})
	met, target := batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget
	if lifecycle.True(status.Conditions, met) != nil && lifecycle.True(status.Conditions, target) != nil {
		errs = append(errs, field.Invalid(field.NewPath("status", "conditions"), field.OmitValueType{},
			fmt.Sprintf("%s and %s are both True; the API server lets neither be removed", met, target)))
	}
	return errs
}

// checkNames validates the rule names in the options. RuleNames has no effect on a Job
// without a policy (KEP-4443), but is validated nevertheless.
func checkNames(own *batchv1.PodFailurePolicy, c *Config) field.ErrorList {
	errs := c.FailurePolicy.CheckNames(func(rule int) *field.Path {
		return field.NewPath("FailurePolicy", "rules").Index(rule).Child("name")
	})
	if len(c.RuleNames) == 0 {
		return errs
	}
	path, rules := field.NewPath("RuleNames"), len(c.RuleNames)
	if own != nil {
		rules = len(own.Rules)
	}
	if len(c.RuleNames) > rules {
		errs = append(errs, field.TooMany(path, len(c.RuleNames), rules))
	}
	named := failurepolicy.Spec{Rules: make([]failurepolicy.Rule, max(rules, len(c.RuleNames)))}
	for i, name := range c.RuleNames {
		named.Rules[i].Name = name
	}
	return append(errs, named.CheckNames(path.Index)...)
}

// number is a field that must not be negative.
type number struct {
	name  string
	value *int32
}

func checkNumbers(within string, numbers []number) (errs field.ErrorList) {
	for _, n := range numbers {
		if n.value != nil && *n.value < 0 {
			errs = append(errs, negative(field.NewPath(within, n.name), *n.value))
		}
	}
	return errs
}

func negative[T int32 | int64](path *field.Path, value T) *field.Error {
	return field.Invalid(path, value, "must be greater than or equal to 0")
}

// checkPods validates the pods.
func checkPods(pods []*corev1.Pod) (errs field.ErrorList) {
	path := field.NewPath("pods")
	for i, pod := range pods {
		switch {
		case pod == nil:
			errs = append(errs, field.Required(path.Index(i), "the pod is nil"))
		case pod.UID == "":
			errs = append(errs, field.Required(path.Index(i).Child("metadata", "uid"), "pods are counted by their UID"))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	seen := make(map[types.UID]bool, len(pods))
	for i, pod := range pods {
		if seen[pod.UID] {
			return field.ErrorList{field.Duplicate(path.Index(i).Child("metadata", "uid"), pod.UID)}
		}
		seen[pod.UID] = true
	}
	return nil
}
