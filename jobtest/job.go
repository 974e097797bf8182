package jobtest

import (
	"fmt"
	"math"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/validation/defaulting"
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
	return generator(func(d Dice) *batchv1.Job { return drawJob(d, m) })
}

func drawJob(d Dice, m Mix) *batchv1.Job {
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
	if d.Chance(m.Deleted, "job deleted") {
		job.DeletionTimestamp = new(instant(d, 5, 0, "job deletion"))
		job.Finalizers = []string{"foregroundDeletion"}
	}
	drawSize(d, job)
	drawTemplate(d, job)
	drawLimits(d, job)
	drawPolicies(d, job)
	if d.Chance(14, "suspend") {
		job.Spec.Suspend = new(true)
	}
	if d.Chance(25, "deadline") {
		job.Spec.ActiveDeadlineSeconds = new(pick[int64](d, "deadline seconds", 100, 3600, 1, 30, 60, 0))
	}
	if !d.Chance(m.Undefaulted, "undefaulted") {
		job.Spec = defaulting.Job(job).Spec
	}
	return job
}

func drawSize(d Dice, job *batchv1.Job) {
	spec := &job.Spec
	if d.Chance(62, "indexed") {
		spec.CompletionMode = new(batchv1.IndexedCompletion)
		spec.Completions = new(weighted(d, "completions", w(11, small(d, 6, "n")), w[int32](1, math.MaxInt32)))
	} else {
		spec.CompletionMode = new(batchv1.NonIndexedCompletion)
		if d.Chance(70, "has completions") {
			spec.Completions = new(small(d, 6, "completions"))
		}
	}
	spec.Parallelism = new(weighted(d, "parallelism", w(12, small(d, 6, "m")), w[int32](2, 0), w[int32](1, 9)))
	if spec.Completions != nil && d.Chance(20, "elastic") && *spec.Completions < 100 {
		spec.Parallelism = new(*spec.Completions)
	}
}

func drawTemplate(d Dice, job *batchv1.Job) {
	spec := &job.Spec.Template.Spec
	if d.Chance(20, "init container") {
		spec.InitContainers = append(spec.InitContainers, corev1.Container{Name: "init", Image: "image"})
	}
	if d.Chance(20, "sidecar") {
		spec.InitContainers = append(spec.InitContainers,
			corev1.Container{Name: "sidecar", Image: "image", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)})
	}
	if d.Chance(20, "second container") {
		spec.Containers = append(spec.Containers, corev1.Container{Name: "other", Image: "image"})
	}
	if d.Chance(10, "own variable") {
		spec.Containers[0].Env = []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", Value: "mine"}}
	}
	if d.Chance(15, "template annotations") {
		job.Spec.Template.Annotations = map[string]string{"note": "x"}
	}
	if d.Chance(10, "template finalizer") {
		job.Spec.Template.Finalizers = []string{"example.com/own"}
	}
}

func drawLimits(d Dice, job *batchv1.Job) {
	spec := &job.Spec
	indexed := *spec.CompletionMode == batchv1.IndexedCompletion
	if d.Chance(70, "has backoffLimit") {
		spec.BackoffLimit = new(weighted(d, "backoffLimit", w(4, small(d, 5, "limit")), w[int32](1, 0),
			w[int32](1, math.MaxInt32)))
	}
	if indexed && d.Chance(55, "per index") {
		spec.BackoffLimitPerIndex = new(small(d, 3, "backoffLimitPerIndex"))
		large := *spec.Completions > 100_000
		if large || d.Chance(45, "has maxFailedIndexes") {
			spec.MaxFailedIndexes = new(min(small(d, 3, "maxFailedIndexes"), *spec.Completions))
		}
	}
}

func drawPolicies(d Dice, job *batchv1.Job) {
	spec := &job.Spec
	switch {
	case d.Chance(40, "failure policy"):
		spec.PodFailurePolicy = drawFailurePolicy(d, spec.BackoffLimitPerIndex != nil)
		if d.Chance(50, "replacement said") {
			spec.PodReplacementPolicy = new(batchv1.Failed)
		}
	case d.Chance(70, "replacement"):
		spec.PodReplacementPolicy = new(pick(d, "replacement policy", batchv1.TerminatingOrFailed, batchv1.Failed))
	}
	if spec.PodFailurePolicy == nil && spec.BackoffLimitPerIndex == nil && d.Chance(25, "OnFailure") {
		spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if *spec.CompletionMode == batchv1.IndexedCompletion && d.Chance(30, "success policy") {
		spec.SuccessPolicy = drawSuccessPolicy(d, *spec.Completions)
	}
}

func drawFailurePolicy(d Dice, perIndex bool) *batchv1.PodFailurePolicy {
	p := &batchv1.PodFailurePolicy{}
	for range d.Between(1, 3, "rules") {
		rule := batchv1.PodFailurePolicyRule{Action: pick(d, "action", batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob)}
		if perIndex && d.Chance(40, "FailIndex") {
			rule.Action = batchv1.PodFailurePolicyActionFailIndex
		}
		if d.Chance(70, "on exit codes") {
			rule.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: pick(d, "operator", batchv1.PodFailurePolicyOnExitCodesOpIn,
					batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values: pick(d, "values", []int32{42}, []int32{1}, []int32{1, 42}, []int32{2, 3}),
			}
			if d.Chance(40, "named container") {
				rule.OnExitCodes.ContainerName = new("main")
			}
		} else {
			rule.OnPodConditions = []batchv1.PodFailurePolicyOnPodConditionsPattern{{
				Type:   corev1.DisruptionTarget,
				Status: pick(d, "status", corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			}}
			if d.Chance(25, "second pattern") {
				rule.OnPodConditions = append(rule.OnPodConditions,
					batchv1.PodFailurePolicyOnPodConditionsPattern{Type: "Custom", Status: corev1.ConditionTrue})
			}
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

func drawSuccessPolicy(d Dice, completions int32) *batchv1.SuccessPolicy {
	p := &batchv1.SuccessPolicy{}
	for range d.Between(1, 2, "success rules") {
		var rule batchv1.SuccessPolicyRule
		count := int(completions)
		if completions > 0 && d.Chance(60, "named indexes") {
			indexes := drawIndexes(d, min(completions, 8), "success indexes")
			if len(indexes) > 0 {
				rule.SucceededIndexes = new(join(indexes))
				count = len(indexes)
			}
		}
		if rule.SucceededIndexes == nil || d.Chance(40, "with count") {
			rule.SucceededCount = new(min(small(d, 4, "succeededCount"), int32(count)))
		}
		p.Rules = append(p.Rules, rule)
	}
	return p
}

// drawIndexes draws indexes below n, in order.
func drawIndexes(d Dice, n int32, label string) []int32 {
	var out []int32
	for i := range n {
		if d.Chance(50, label) {
			out = append(out, i)
		}
	}
	return out
}

// join lists the indexes one by one. The API accepts that, although it is not canonical.
func join(indexes []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(indexes), " ", ","), "[]")
}
