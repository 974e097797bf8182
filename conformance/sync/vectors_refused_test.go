package sync

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/vectors"
)

// wrongInputs are changes of a case that make jobfate reject it, with the field in the error.
var wrongInputs = append([]wrongInput{
	{"spec.parallelism", refuse(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) })},
	{"spec.completions", refuse(func(j *batchv1.Job) { j.Spec.Completions = new(int32(-1)) })},
	{"spec.completions", refuse(func(j *batchv1.Job) {
		byIndex(j)
		j.Spec.Completions, j.Spec.Parallelism = nil, new(int32(2))
	})},
	{"spec.backoffLimit", refuse(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(-1)) })},
	{"spec.backoffLimitPerIndex", refuse(func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(-1)) })},
	{"spec.maxFailedIndexes", refuse(func(j *batchv1.Job) { j.Spec.MaxFailedIndexes = new(int32(-1)) })},
	{"spec.activeDeadlineSeconds", refuse(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(-1)) })},
	{"spec.completionMode", refuse(func(j *batchv1.Job) { j.Spec.CompletionMode = new(batchv1.CompletionMode("Other")) })},
	{"spec.managedBy", refuse(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/other") })},
	{"spec.selector", refuse(func(j *batchv1.Job) {
		j.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Other"}}}
	})},
	{"spec.template.metadata.labels", refuse(func(j *batchv1.Job) { j.Spec.Template.Labels = map[string]string{"other": "label"} })},
	{"status.active", refuse(func(j *batchv1.Job) { j.Status.Active = -1 })},
	{"status.succeeded", refuse(func(j *batchv1.Job) { j.Status.Succeeded = -1 })},
	{"status.failed", refuse(func(j *batchv1.Job) { j.Status.Failed = -1 })},
	{"status.ready", refuse(func(j *batchv1.Job) { j.Status.Ready = new(int32(-1)) })},
	{"status.terminating", refuse(func(j *batchv1.Job) { j.Status.Terminating = new(int32(-1)) })},
	{"status.conditions", refuse(func(j *batchv1.Job) {
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
		}
	})},
	{"metadata.uid", refuse(func(j *batchv1.Job) { j.UID = "" })},
	{"metadata.name", refuse(func(j *batchv1.Job) { j.Name = "" })},
	{"pods[0].metadata.uid", func(c *vectors.Case) { c.Snapshot.Pods = []*corev1.Pod{podNamed("a", "")} }},
	{"pods[1].metadata.uid", func(c *vectors.Case) { c.Snapshot.Pods = []*corev1.Pod{podNamed("a", "uid"), podNamed("b", "uid")} }},
	{"RuleNames", func(c *vectors.Case) {
		rules := []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionIgnore}}
		c.Snapshot.Job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
		c.Options.RuleNames = []string{"first", "second"}
	}},
	{"RuleNames[0]", func(c *vectors.Case) { c.Options.RuleNames = []string{"not a name"} }},
	{"RuleNames[1]", func(c *vectors.Case) { c.Options.RuleNames = []string{"twice", "twice"} }},
}, wrongLabels()...)

type wrongInput struct {
	field string
	set   func(*vectors.Case)
}

// wrongLabels returns invalid label selectors: with the characters next to the allowed ones, and with
// texts that are too long.
func wrongLabels() (all []wrongInput) {
	add := func(key, value string) {
		all = append(all, wrongInput{"spec.selector", refuse(func(j *batchv1.Job) {
			labels := map[string]string{key: value}
			j.Spec.Selector, j.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
		})})
	}
	for _, c := range "/:@[`{ -._" {
		add("key", "a"+string(c)) // the last three are allowed only in the middle
		add("key", string(c)+"a")
		add("key"+string(c), "a")
	}
	add("key", strings.Repeat("a", 64))
	add(strings.Repeat("a", 64), "a")
	add("Prefix/key", "a")
	add(strings.Repeat("a", 254)+"/key", "a")
	add("prefix/", "a")
	add("a/b/c", "a")
	return all
}

func refuse(set func(*batchv1.Job)) func(*vectors.Case) {
	return func(c *vectors.Case) { set(c.Snapshot.Job) }
}

func podNamed(name, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
}
