package validation

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// withRules is an edit: a Job with a pod failure policy.
func withRules(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules}
		j.Spec.PodReplacementPolicy = new(batchv1.Failed)
	}
}

func onExitCodes(operator batchv1.PodFailurePolicyOnExitCodesOperator, values ...int32) *batchv1.PodFailurePolicyOnExitCodesRequirement {
	return &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: operator, Values: values}
}

func onCondition(kind corev1.PodConditionType, status corev1.ConditionStatus) batchv1.PodFailurePolicyOnPodConditionsPattern {
	return batchv1.PodFailurePolicyOnPodConditionsPattern{Type: kind, Status: status}
}

func upTo(n int32) []int32 {
	var values []int32
	for v := int32(1); v <= n; v++ {
		values = append(values, v)
	}
	return values
}

func TestCreateFailurePolicy(t *testing.T) {
	const rule0 = "spec.podFailurePolicy.rules[0]"
	ignore := batchv1.PodFailurePolicyRule{Action: "Ignore", OnExitCodes: onExitCodes("In", 1)}
	codes := func(on *batchv1.PodFailurePolicyOnExitCodesRequirement) func(*batchv1.Job) {
		return withRules(batchv1.PodFailurePolicyRule{Action: "Count", OnExitCodes: on})
	}
	patterns := func(p ...batchv1.PodFailurePolicyOnPodConditionsPattern) func(*batchv1.Job) {
		return withRules(batchv1.PodFailurePolicyRule{Action: "FailJob", OnPodConditions: p})
	}
	target := onCondition("DisruptionTarget", corev1.ConditionTrue)
	inContainer := func(name string) *batchv1.PodFailurePolicyOnExitCodesRequirement {
		on := onExitCodes("NotIn", 0, 300)
		on.ContainerName = &name
		return on
	}
	runCreate(t, []createCase{
		{name: "no rules", edit: withRules()},
		{name: "20 rules", edit: withRules(times(20, ignore)...)},
		{name: "21 rules", edit: withRules(times(21, ignore)...), want: []string{"spec.podFailurePolicy.rules: Too many: must have at most 20 items"}},
		{name: "container", edit: codes(inContainer("main"))},
		{name: "init container", edit: codes(inContainer("init"))},
		{name: "other container", edit: codes(inContainer("other")), want: []string{rule0 + ".onExitCodes.containerName: Invalid value: must be one of the container or initContainer names in the pod template"}},
		{name: "255 codes", edit: codes(onExitCodes("In", upTo(255)...))},
		{name: "256 codes", edit: codes(onExitCodes("In", upTo(256)...)), want: []string{rule0 + ".onExitCodes.values: Too many: must have at most 255 items"}},
		{name: "no codes", edit: codes(onExitCodes("In")), want: []string{rule0 + ".onExitCodes.values: Invalid value: at least one value is required"}},
		{
			name: "zero, twice and out of order", edit: codes(onExitCodes("In", 2, 2, 0)),
			want: []string{
				rule0 + ".onExitCodes.values[1]: Duplicate value",
				rule0 + ".onExitCodes.values[2]: Invalid value: must not be 0 for the In operator",
				rule0 + ".onExitCodes.values: Invalid value: must be ordered",
			},
		},
		{name: "twice is not out of order", edit: codes(onExitCodes("In", 2, 2)), want: []string{rule0 + ".onExitCodes.values[1]: Duplicate value"}},
		{name: "no operator", edit: codes(onExitCodes("", 1)), want: []string{rule0 + `.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]`}},
		{name: "other operator", edit: codes(onExitCodes("Is", 1)), want: []string{rule0 + `.onExitCodes.operator: Unsupported value: supported values: "In", "NotIn"`}},
		{name: "20 patterns", edit: patterns(times(20, target)...)},
		{name: "21 patterns", edit: patterns(times(21, target)...), want: []string{rule0 + ".onPodConditions: Too many: must have at most 20 items"}},
		{name: "no status", edit: patterns(onCondition("A", "")), want: []string{rule0 + `.onPodConditions[0].status: Required value: valid values: ["False" "True" "Unknown"]`}},
		{name: "other status", edit: patterns(onCondition("A", "Other")), want: []string{rule0 + `.onPodConditions[0].status: Unsupported value: supported values: "False", "True", "Unknown"`}},
		{
			name: "long condition type", edit: patterns(onCondition(corev1.PodConditionType(strings.Repeat("a", 64)), "True")),
			want: []string{rule0 + ".onPodConditions[0].type: Invalid value: name part must be no more than 63 bytes"},
		},
		{
			name: "both", edit: withRules(batchv1.PodFailurePolicyRule{Action: "Count", OnExitCodes: onExitCodes("In", 1), OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{target}}),
			want: []string{rule0 + ": Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"},
		},
		{
			name: "neither", edit: withRules(ignore, batchv1.PodFailurePolicyRule{Action: "Count"}),
			want: []string{"spec.podFailurePolicy.rules[1]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"},
		},
		{
			name: "no action", edit: withRules(batchv1.PodFailurePolicyRule{OnExitCodes: onExitCodes("In", 1)}),
			want: []string{rule0 + `.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`},
		},
		{
			name: "other action", edit: withRules(batchv1.PodFailurePolicyRule{Action: "Retry", OnExitCodes: onExitCodes("In", 1)}),
			want: []string{rule0 + `.action: Unsupported value: supported values: "Count", "FailIndex", "FailJob", "Ignore"`},
		},
		{
			name: "FailIndex", why: "This action can only be used if backoff limit per index is used",
			edit: withRules(batchv1.PodFailurePolicyRule{Action: "FailIndex", OnExitCodes: onExitCodes("In", 1)}),
			want: []string{rule0 + ".action: Invalid value: requires the backoffLimitPerIndex to be set"},
		},
		{
			name: "FailIndex with a limit per index",
			edit: func(j *batchv1.Job) {
				perIndex(5)(j)
				withRules(batchv1.PodFailurePolicyRule{Action: "FailIndex", OnExitCodes: onExitCodes("In", 1)})(j)
			},
		},
	})
}

func TestCreateSuccessPolicy(t *testing.T) {
	const rule0 = "spec.successPolicy.rules[0]"
	policy := func(rules ...batchv1.SuccessPolicyRule) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			indexedJob(5)(j)
			j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules}
		}
	}
	rule := func(indexes *string, count *int32) batchv1.SuccessPolicyRule {
		return batchv1.SuccessPolicyRule{SucceededIndexes: indexes, SucceededCount: count}
	}
	one := rule(nil, new(int32(1)))
	const parsing = rule0 + ".succeededIndexes: Invalid value: error parsing succeededIndexes: "
	runCreate(t, []createCase{
		{name: "by count and by indexes", edit: policy(rule(new("0,2-4"), new(int32(4))), rule(new(""), nil), one)},
		{name: "not indexed", edit: func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{} }, want: []string{"spec.successPolicy: Invalid value: requires indexed completion mode"}},
		{name: "no rules", edit: policy(), want: []string{"spec.successPolicy.rules: Required value: at least one rules must be specified when the successPolicy is specified"}},
		{name: "20 rules", edit: policy(times(20, one)...)},
		{name: "21 rules", edit: policy(times(21, one)...), want: []string{"spec.successPolicy.rules: Too many: must have at most 20 items"}},
		{name: "an empty rule", edit: policy(rule(nil, nil)), want: []string{rule0 + ": Required value: at least one of succeededCount or succeededIndexes must be specified"}},
		{name: "count of all completions", edit: policy(rule(nil, new(int32(5))))},
		{name: "negative count", edit: policy(rule(nil, new(int32(-1)))), want: []string{rule0 + ".succeededCount: Invalid value: must be greater than or equal to 0"}},
		{
			name: "count above everything", edit: policy(rule(new("0-2"), new(int32(6)))),
			want: []string{
				rule0 + ".succeededCount: Invalid value: must be less than or equal to 5 (the number of specified completions)",
				rule0 + ".succeededCount: Invalid value: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)",
			},
		},
		{name: "order", edit: policy(rule(new("2,1"), nil)), want: []string{parsing + "non-increasing order, previous: 2, current: 1"}},
		{name: "out of range", edit: policy(rule(new("4-5"), nil)), want: []string{parsing + `too large index: "5"`}},
		{name: "three parts", edit: policy(rule(new("1-2-3"), nil)), want: []string{parsing + `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`}},
		{
			name: "a list that cannot be parsed holds no index", edit: policy(rule(new("x"), new(int32(1)))),
			want: []string{
				parsing + `cannot convert string to integer for index: "x"`,
				rule0 + ".succeededCount: Invalid value: must be less than or equal to 0 (the number of indexes in the specified succeededIndexes field)",
			},
		},
		{
			name: "64 KiB and one byte", edit: policy(rule(new(strings.Repeat("0", 64*1024)+"1"), nil)),
			want: []string{rule0 + ".succeededIndexes: Too long: may not be more than 65536 bytes"},
		},
		{name: "64 KiB", edit: policy(rule(new(strings.Repeat("0", 64*1024-1)+"1"), nil))},
		{
			// The API server panics here.
			name: "without completions nothing is compared with them",
			edit: func(j *batchv1.Job) {
				policy(rule(new("7"), new(int32(-1))), rule(new("x"), nil))(j)
				j.Spec.Completions = nil
			},
			want: []string{
				"spec.completions: Required value: when completion mode is Indexed",
				rule0 + ".succeededCount: Invalid value: must be greater than or equal to 0",
			},
		},
	})
}
