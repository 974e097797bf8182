package validation

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// The longest lists that a policy may have. The other cases of policies are in testdata/create.
func TestCreatePolicy_longest(t *testing.T) {
	const values = "spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: must have at most 255 items"
	const indexes = "spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than 65536 bytes"
	var codes []int32
	for code := range int32(256) {
		codes = append(codes, code+1)
	}
	onCodes := func(values []int32) *batchv1.Job {
		on := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: values}
		rules := []batchv1.PodFailurePolicyRule{{Action: "Count", OnExitCodes: on}}
		return prepared(func(j *batchv1.Job) {
			j.Spec.PodFailurePolicy, j.Spec.PodReplacementPolicy = &batchv1.PodFailurePolicy{Rules: rules}, new(batchv1.Failed)
		})
	}
	wantErrors(t, Create(onCodes(codes[:255])))
	wantErrors(t, Create(onCodes(codes)), values)

	onIndexes := func(text string) *batchv1.Job {
		rules := []batchv1.SuccessPolicyRule{{SucceededIndexes: &text}}
		return prepared(Indexed(5), func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules} })
	}
	zeros := strings.Repeat("0", 64*1024)
	wantErrors(t, Create(onIndexes(zeros[1:]+"1")))
	wantErrors(t, Create(onIndexes(zeros+"1")), indexes)
}
