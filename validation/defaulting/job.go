// Package defaulting sets in a Job what the API server sets before it validates and stores the Job.
package defaulting

import (
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prepared returns a copy of a new Job as the API server validates it: after [WithGeneratedName],
// [Job] and [WithGeneratedSelector], with an empty status and generation 1. It does not set the
// defaults of the pod template, see [PodSpec]. The caller sets the namespace and the UID.
//
// A Job without labels gets the labels of its template. In the API server both then share
// one map, so the Job also gets the generated labels. Prepared does the same with a
// separate map.
func Prepared(job *batchv1.Job) *batchv1.Job {
	prepared := WithGeneratedSelector(Job(WithGeneratedName(job)))
	if prepared == nil {
		return nil
	}
	if takesTemplateLabels(job) {
		prepared.Labels = maps.Clone(prepared.Spec.Template.Labels)
	}
	prepared.Status = batchv1.JobStatus{}
	prepared.Generation = 1
	return prepared
}

// longestPrefix is the length to which the API server cuts generateName, and suffix stands
// for the five random letters and digits that it appends.
const (
	longestPrefix = 63 - len(suffix)
	suffix        = "xxxxx"
)

// WithGeneratedName returns a copy of the Job with the name that the API server generates from
// generateName, if the Job has no name. The name ends in xxxxx instead of random letters and
// digits. Whether the API server accepts it does not depend on them.
func WithGeneratedName(job *batchv1.Job) *batchv1.Job {
	made := job.DeepCopy()
	if made != nil && made.Name == "" && made.GenerateName != "" {
		made.Name = made.GenerateName[:min(len(made.GenerateName), longestPrefix)] + suffix
	}
	return made
}

// Job returns a copy of the Job with the defaults of batch/v1. It does not set the
// defaults of the pod template, see [PodSpec].
func Job(job *batchv1.Job) *batchv1.Job {
	made := job.DeepCopy()
	if made == nil {
		return nil
	}
	if takesTemplateLabels(made) {
		made.Labels = maps.Clone(made.Spec.Template.Labels)
	}
	spec := &made.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		spec.Completions = new(int32(1))
	}
	setDefault(&spec.Parallelism, 1)
	setDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setDefault(&spec.Suspend, false)
	setDefault(&spec.ManualSelector, false)
	if spec.BackoffLimitPerIndex != nil {
		// Each index has its own limit (KEP-3850).
		setDefault(&spec.BackoffLimit, math.MaxInt32)
	}
	setDefault(&spec.BackoffLimit, 6)
	if spec.PodFailurePolicy != nil {
		setDefault(&spec.PodReplacementPolicy, batchv1.Failed)
		for _, rule := range spec.PodFailurePolicy.Rules {
			defaultPatterns(rule.OnPodConditions)
		}
	}
	setDefault(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	return made
}

// takesTemplateLabels reports whether the labels default to those of the template. An empty
// map counts as absent: it is not sent to the API server.
func takesTemplateLabels(job *batchv1.Job) bool {
	return len(job.Labels) == 0 && len(job.Spec.Template.Labels) > 0
}

// defaultPatterns sets the status of patterns without one to True.
func defaultPatterns(out []batchv1.PodFailurePolicyOnPodConditionsPattern) {
	for i := range out {
		if out[i].Status == "" {
			out[i].Status = corev1.ConditionTrue
		}
	}
}

// WithGeneratedSelector returns a copy of the Job with the selector and the pod template labels
// that the API server generates for a new Job from its UID and name. It keeps existing
// values; validation.Create rejects them if they are wrong. It does not change a Job with
// manualSelector.
func WithGeneratedSelector(job *batchv1.Job) *batchv1.Job {
	made := job.DeepCopy()
	if made == nil || made.Spec.ManualSelector != nil && *made.Spec.ManualSelector {
		return made
	}
	template, uid := &made.Spec.Template, string(made.UID)
	// The labels without a prefix are older.
	for key, value := range map[string]string{batchv1.ControllerUidLabel: uid, "controller-uid": uid,
		batchv1.JobNameLabel: made.Name, "job-name": made.Name} {
		template.Labels = addLabel(template.Labels, key, value)
	}
	if made.Spec.Selector == nil {
		made.Spec.Selector = &metav1.LabelSelector{}
	}
	// The UID alone distinguishes the pods of this Job from all others.
	selector := made.Spec.Selector
	selector.MatchLabels = addLabel(selector.MatchLabels, batchv1.ControllerUidLabel, uid)
	return made
}

// addLabel adds a label, unless there is one, and returns the labels.
func addLabel(out map[string]string, key, value string) map[string]string {
	if out == nil {
		out = map[string]string{}
	}
	if _, found := out[key]; !found {
		out[key] = value
	}
	return out
}

func setDefault[T any](out **T, value T) {
	if *out == nil {
		*out = &value
	}
}
