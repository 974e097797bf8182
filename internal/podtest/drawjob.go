package podtest

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// OneOf draws one of the values.
func OneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

// Maybe draws a pointer to one of the values, or nil.
func Maybe[T any](t *rapid.T, label string, values ...T) *T {
	if !rapid.Bool().Draw(t, label+" is set") {
		return nil
	}
	return new(OneOf(t, label, values...))
}

// number draws a number, often one at the end of a range.
func number(t *rapid.T, label string) *int32 {
	return Maybe[int32](t, label, math.MinInt32, -1, 0, 1, 2, 5, 7, 9, 10_001, 100_001, math.MaxInt32-1, math.MaxInt32)
}

// drawList draws a list of indexes, which may be damaged.
func drawList(t *rapid.T, label string) string {
	_, set := DrawIndexes(t, label)
	text := rapid.StringOfN(rapid.SampledFrom([]rune("0123459,-+x")), 0, 9, -1).Draw(t, label+" text")
	return OneOf(t, label+" list", "", set.String(), set.String(), "0", "1-3", "1-2147483646", "2,1", "1-2-3",
		"4,x,0", "x,3-1", text, text)
}

// DrawStatus draws a status that may contradict itself.
func DrawStatus(t *rapid.T, label string) *batchv1.JobStatus {
	counter := func(what string) int32 {
		return OneOf[int32](t, label+" "+what, 0, 0, 1, 3, 7, -1, math.MinInt32, math.MaxInt32-1, math.MaxInt32)
	}
	at := func(what string) *metav1.Time {
		return OneOf(t, label+" "+what, nil, new(After(0)), new(After(1)), new(After(5)))
	}
	st := &batchv1.JobStatus{
		Conditions: DrawConditions(t), StartTime: at("start"), CompletionTime: at("completion"),
		Active: counter("active"), Succeeded: counter("succeeded"), Failed: counter("failed"),
		Ready: number(t, label+" ready"), Terminating: number(t, label+" terminating"),
		CompletedIndexes: drawList(t, label+" completed"),
		FailedIndexes:    Maybe(t, label+" failedIndexes", drawList(t, label+" failed indexes")),
	}
	for i := range st.Conditions {
		st.Conditions[i].LastTransitionTime = OneOf(t, label+" since", metav1.Time{}, After(0), After(5))
	}
	if rapid.Bool().Draw(t, label+" has lists") {
		uid := rapid.SampledFrom([]types.UID{"a", "b", "c", "d", "gone", ""})
		uids := rapid.SliceOfN(uid, 0, 4)
		st.UncountedTerminatedPods = Lists(uids.Draw(t, label+" UIDs succeeded"), uids.Draw(t, label+" UIDs failed"))
	}
	return st
}

// DrawJob draws a Job that may contradict itself, with numbers at the ends of their ranges and beyond them. It
// selects the pods of Pod, unless its selector is unusual.
func DrawJob(t *rapid.T) *batchv1.Job {
	job := NewJob()
	job.Generation = int64(rapid.IntRange(0, 2).Draw(t, "generation"))
	if OneIn(t, 5, "deleted") {
		job.DeletionTimestamp = new(After(0))
	}
	job.Spec, job.Status = drawSpec(t, job.Spec.Selector), *DrawStatus(t, "now")
	return job
}

func drawSpec(t *rapid.T, usual *metav1.LabelSelector) batchv1.JobSpec {
	s := batchv1.JobSpec{
		Parallelism: number(t, "parallelism"), Completions: number(t, "completions"),
		BackoffLimit: number(t, "backoffLimit"), BackoffLimitPerIndex: number(t, "per index"),
		MaxFailedIndexes: number(t, "maxFailed"), TTLSecondsAfterFinished: number(t, "ttl"),
		ActiveDeadlineSeconds: Maybe[int64](t, "deadline", -1, 1, 100),
		CompletionMode:        Maybe(t, "mode", batchv1.IndexedCompletion, batchv1.IndexedCompletion, "Other"),
		Suspend:               Maybe(t, "suspend", true, false),
		ManualSelector:        Maybe(t, "manual", true, false),
		ManagedBy:             Maybe(t, "managedBy", "", "x", "a.b/c"),
		PodReplacementPolicy: Maybe(t, "replacement", "", batchv1.Failed, batchv1.Failed,
			batchv1.TerminatingOrFailed, "Other"),
		Selector: OneOf(t, "selector", usual, usual, usual, usual, nil, &metav1.LabelSelector{},
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{}}}),
	}
	if OneIn(t, 3, "equal") {
		s.MaxFailedIndexes = s.Completions
	}
	s.Template.Labels = OneOf(t, "labels", usual.MatchLabels, nil, map[string]string{},
		map[string]string{"job-name": "x"})
	pod := &s.Template.Spec
	pod.RestartPolicy = OneOf(t, "restart", "", corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure, "Other")
	pod.Affinity = Maybe(t, "affinity", corev1.Affinity{}, corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
		corev1.Affinity{PodAffinity: &corev1.PodAffinity{}})
	pod.Containers = OneOf(t, "containers", nil, []corev1.Container{{}}, []corev1.Container{{Name: "a"}, {Name: "b"}})
	if rules := rapid.IntRange(-1, 2).Draw(t, "failure rules"); rules >= 0 {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{}
		for range rules {
			s.PodFailurePolicy.Rules = append(s.PodFailurePolicy.Rules, drawRule(t))
		}
	}
	if rules := rapid.IntRange(-1, 2).Draw(t, "success rules"); rules >= 0 {
		s.SuccessPolicy = &batchv1.SuccessPolicy{}
		for range rules {
			s.SuccessPolicy.Rules = append(s.SuccessPolicy.Rules, batchv1.SuccessPolicyRule{
				SucceededIndexes: Maybe(t, "indexes", drawList(t, "succeeded")), SucceededCount: number(t, "count")})
		}
	}
	return s
}

func drawRule(t *rapid.T) batchv1.PodFailurePolicyRule {
	in := func(codes ...int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
		return &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn,
			Values: codes}
	}
	return batchv1.PodFailurePolicyRule{
		Action: OneOf(t, "action", batchv1.PodFailurePolicyActionFailJob, "Ignore", "FailIndex", "Count", "Other", ""),
		OnExitCodes: OneOf(t, "codes", in(1, 2), in(1, 2), in(ExitIgnore, ExitFailJob), in(42), in(0, 0), nil,
			&batchv1.PodFailurePolicyOnExitCodesRequirement{}),
		OnPodConditions: OneOf(t, "patterns", nil, nil, nil, []batchv1.PodFailurePolicyOnPodConditionsPattern{{}}),
	}
}
