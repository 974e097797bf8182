package jobtest

import (
	"fmt"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// Mix sets the shares of unusual input that a generator makes, in percent.
type Mix struct {
	// Undefaulted omits fields that the API server would have set.
	Undefaulted int
	// Damaged makes interval lists that no controller would write, and counters that
	// contradict them.
	Damaged int
	// Edited makes pods whose annotations, index, owner or phase another client has edited.
	Edited int
	// Deleted makes Jobs that are being deleted.
	Deleted int
}

// Usual returns the mix of a healthy cluster.
func Usual() Mix { return Mix{Undefaulted: 20, Deleted: 6} }

// Wild returns a mix with damaged statuses and edited pods.
func Wild() Mix { return Mix{Undefaulted: 20, Damaged: 20, Edited: 20, Deleted: 6} }

// Names of the generated objects.
const (
	Namespace = "ns"
	JobName   = "job"
	JobUID    = "job-uid"
)

// Jobs generates Jobs that the API server accepts, without a status.
func Jobs(m Mix) *rapid.Generator[*batchv1.Job] {
	return rapid.Custom(func(t *rapid.T) *batchv1.Job { return drawJob(t, m) })
}

func drawJob(t *rapid.T, m Mix) *batchv1.Job {
	labels := map[string]string{batchv1.ControllerUidLabel: JobUID, batchv1.JobNameLabel: JobName,
		"controller-uid": JobUID, "job-name": JobName}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: JobName, UID: JobUID, ResourceVersion: "7", Generation: 1,
			CreationTimestamp: metav1.NewTime(noon.Add(-1000e9)),
		},
		Spec: batchv1.JobSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: JobUID}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "main", Image: "image"}}},
			},
		},
	}
	if chance(t, m.Deleted, "job deleted") {
		job.DeletionTimestamp = ptr(instant(t, 5, 0, "job deletion"))
		job.Finalizers = []string{"foregroundDeletion"}
	}
	drawSize(t, job)
	drawTemplate(t, job)
	drawLimits(t, job)
	drawPolicies(t, job)
	if chance(t, 14, "suspend") {
		job.Spec.Suspend = ptr(true)
	}
	if chance(t, 25, "deadline") {
		job.Spec.ActiveDeadlineSeconds = ptr(pick[int64](t, "deadline seconds", 100, 3600, 1, 30, 60, 0))
	}
	if !chance(t, m.Undefaulted, "undefaulted") {
		setDefaults(job)
	}
	return job
}

func drawSize(t *rapid.T, job *batchv1.Job) {
	spec := &job.Spec
	if chance(t, 62, "indexed") {
		spec.CompletionMode = ptr(batchv1.IndexedCompletion)
		spec.Completions = ptr(weighted(t, "completions", w(11, small(t, 6, "n")), w[int32](1, math.MaxInt32)))
	} else {
		spec.CompletionMode = ptr(batchv1.NonIndexedCompletion)
		if chance(t, 70, "has completions") {
			spec.Completions = ptr(small(t, 6, "completions"))
		}
	}
	spec.Parallelism = ptr(weighted(t, "parallelism", w(12, small(t, 6, "m")), w[int32](2, 0), w[int32](1, 9)))
	if spec.Completions != nil && chance(t, 20, "elastic") && *spec.Completions < 100 {
		spec.Parallelism = ptr(*spec.Completions)
	}
}

func drawTemplate(t *rapid.T, job *batchv1.Job) {
	spec := &job.Spec.Template.Spec
	if chance(t, 20, "init container") {
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: "init", Image: "image"})
	}
	if chance(t, 20, "sidecar") {
		spec.InitContainers = append(spec.InitContainers,
			corev1.Container{Name: "sidecar", Image: "image", RestartPolicy: ptr(corev1.ContainerRestartPolicyAlways)})
	}
	if chance(t, 20, "second container") {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "other", Image: "image"})
	}
	if chance(t, 10, "own variable") {
		spec.Containers[0].Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}
	}
	if chance(t, 15, "template annotations") {
		job.Spec.Template.Annotations = map[string]string{"note": "x"}
	}
	if chance(t, 10, "template finalizer") {
		job.Spec.Template.Finalizers = []string{"example.com/own"}
	}
}

func drawLimits(t *rapid.T, job *batchv1.Job) {
	spec := &job.Spec
	indexed := *spec.CompletionMode == batchv1.IndexedCompletion
	if chance(t, 70, "has backoffLimit") {
		spec.BackoffLimit = ptr(weighted(t, "backoffLimit", w(4, small(t, 5, "limit")), w[int32](1, 0),
			w[int32](1, math.MaxInt32)))
	}
	if indexed && chance(t, 55, "per index") {
		spec.BackoffLimitPerIndex = ptr(small(t, 3, "backoffLimitPerIndex"))
		large := *spec.Completions > 100_000
		if large || chance(t, 45, "has maxFailedIndexes") {
			spec.MaxFailedIndexes = ptr(min(small(t, 3, "maxFailedIndexes"), *spec.Completions))
		}
	}
}

func drawPolicies(t *rapid.T, job *batchv1.Job) {
	spec := &job.Spec
	switch {
	case chance(t, 40, "failure policy"):
		spec.PodFailurePolicy = drawFailurePolicy(t, spec.BackoffLimitPerIndex != nil)
		if chance(t, 50, "replacement said") {
			spec.PodReplacementPolicy = ptr(batchv1.Failed)
		}
	case chance(t, 70, "replacement"):
		spec.PodReplacementPolicy = ptr(pick(t, "replacement policy", batchv1.TerminatingOrFailed, batchv1.Failed))
	}
	if spec.PodFailurePolicy == nil && spec.BackoffLimitPerIndex == nil && chance(t, 25, "OnFailure") {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if *spec.CompletionMode == batchv1.IndexedCompletion && chance(t, 30, "success policy") {
		spec.SuccessPolicy = drawSuccessPolicy(t, *spec.Completions)
	}
}

func drawFailurePolicy(t *rapid.T, perIndex bool) *batchv1.PodFailurePolicy {
	p := &batchv1.PodFailurePolicy{}
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		rule := batchv1.PodFailurePolicyRule{Action: pick(t, "action", batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob)}
		if perIndex && chance(t, 40, "FailIndex") {
			rule.Action = batchv1.PodFailurePolicyActionFailIndex
		}
		if chance(t, 70, "on exit codes") {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: pick(t, "operator", batchv1.PodFailurePolicyOnExitCodesOpIn,
					batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values: pick(t, "values", []int32{42}, []int32{1}, []int32{1, 42}, []int32{2, 3}),
			}
			if chance(t, 40, "named container") {
				rule.OnExitCodes.ContainerName = ptr("main")
			}
		} else {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type: corev1.DisruptionTarget, Status: pick(t, "status", corev1.ConditionTrue, corev1.ConditionFalse),
			}}
			if chance(t, 25, "second pattern") {
				rule.OnPodConditions = append(rule.OnPodConditions,
					batchv1.PodFailurePolicyOnPodConditionsPattern{Type: "Custom", Status: corev1.ConditionTrue})
			}
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func drawSuccessPolicy(t *rapid.T, completions int32) *batchv1.SuccessPolicy {
	p := &batchv1.SuccessPolicy{}
	for range rapid.IntRange(1, 2).Draw(t, "success rules") {
		var rule batchv1.SuccessPolicyRule
		count := int(completions)
		if completions > 0 && chance(t, 60, "named indexes") {
			indexes := drawIndexes(t, min(completions, 8), "success indexes")
			if len(indexes) > 0 {
				rule.SucceededIndexes = ptr(join(indexes))
				count = len(indexes)
			}
		}
		if rule.SucceededIndexes == nil || chance(t, 40, "with count") {
			rule.SucceededCount = ptr(min(small(t, 4, "succeededCount"), int32(count)))
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

// drawIndexes draws indexes below n, in order.
func drawIndexes(t *rapid.T, n int32, label string) []int32 {
	var out []int32
	for i := range n {
		if rapid.Bool().Draw(t, label) {
			out = append(out, i)
		}
	}
	return out
}

// join lists the indexes one by one. The API accepts that, although it is not canonical.
func join(indexes []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(indexes), " ", ","), "[]")
}

// setDefaults sets the defaults of the API server.
func setDefaults(job *batchv1.Job) {
	spec := &job.Spec
	if spec.Suspend == nil {
		spec.Suspend = ptr(false)
	}
	if spec.ManualSelector == nil {
		spec.ManualSelector = ptr(false)
	}
	if spec.BackoffLimit == nil {
		spec.BackoffLimit = ptr[int32](6)
		if spec.BackoffLimitPerIndex != nil {
			spec.BackoffLimit = ptr[int32](math.MaxInt32)
		}
	}
	if spec.PodReplacementPolicy == nil {
		spec.PodReplacementPolicy = ptr(batchv1.TerminatingOrFailed)
		if spec.PodFailurePolicy != nil {
			spec.PodReplacementPolicy = ptr(batchv1.Failed)
		}
	}
}
