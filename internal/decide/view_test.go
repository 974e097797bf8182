package decide

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
)

// KEP-3850: with the feature switched off, "the Job controller manager handles pod failures
// in the default way, even if .spec.backoffLimitPerIndex is set". That holds for the rules
// of the Job and of the caller. Neither are changed.
func TestReadPolicy_withoutFailIndex(t *testing.T) {
	exits := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}}
	disrupted := []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget}}
	spec := &batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionFailIndex, OnExitCodes: exits},
		{Action: batchv1.PodFailurePolicyActionFailIndex, OnPodConditions: disrupted},
		{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: exits},
	}}}
	exit := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}},
	}}}
	disruption := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}}}
	own := failurepolicy.FromAPI(spec.PodFailurePolicy, "A", "B", "C")
	for name, tc := range map[string]struct {
		spec   *batchv1.JobSpec
		config Config
		pod    *corev1.Pod
		want   string
	}{
		"on, exit code":               {spec, Config{}, exit, "rule 0 on container main, exit code 1"},
		"on, condition":               {spec, Config{}, disruption, "rule 1 on pod condition DisruptionTarget"},
		"off, exit code":              {spec, Config{WithoutPerIndex: true}, exit, "rule 2 on container main, exit code 1"},
		"off, condition":              {spec, Config{WithoutPerIndex: true}, disruption, "no rule matched"},
		"off, names":                  {spec, Config{WithoutPerIndex: true, RuleNames: []string{"A", "B", "C"}}, exit, "rule 2 (C) on container main, exit code 1"},
		"on, rules of the caller":     {&batchv1.JobSpec{}, Config{FailurePolicy: own}, disruption, "rule 1 (B) on pod condition DisruptionTarget"},
		"off, rules of the caller":    {&batchv1.JobSpec{}, Config{FailurePolicy: own, WithoutPerIndex: true}, exit, "rule 2 (C) on container main, exit code 1"},
		"off, and there are no rules": {&batchv1.JobSpec{}, Config{WithoutPerIndex: true}, exit, "no rule matched"},
	} {
		if got := readPolicy(tc.spec, &tc.config).Match(tc.pod).Explain(); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if own.Rules[0].Action != batchv1.PodFailurePolicyActionFailIndex || spec.PodFailurePolicy.Rules[0].Action != batchv1.PodFailurePolicyActionFailIndex {
		t.Error("the rules were changed")
	}
}
