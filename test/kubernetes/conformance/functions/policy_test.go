package functions

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// failurePolicy draws rules of all kinds, including kinds that a future release may add.
func (d draw) failurePolicy() *batchv1.PodFailurePolicy {
	p := &batchv1.PodFailurePolicy{}
	for range d.upTo(4) {
		r := batchv1.PodFailurePolicyRule{Action: pick(d,
			batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount,
			batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex)}
		if d.percent(5) {
			r.Action = "Unknown"
		}
		if d.percent(60) {
			r.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: pick(d, batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn),
				Values:   pick(d, []int32{42}, []int32{1}, []int32{1, 2, 42}, []int32{2, 3}, []int32{137}, nil),
			}
			if d.percent(5) {
				r.OnExitCodes.Operator = "Unknown"
			}
			if d.percent(40) {
				r.OnExitCodes.ContainerName = new(pick(d, "c0", "c1", "i0", "none"))
			}
		}
		if r.OnExitCodes == nil || d.percent(10) {
			for range d.upTo(3) {
				r.OnPodConditions = append(r.OnPodConditions, batchv1.PodFailurePolicyOnPodConditionsPattern{
					Type:   pick(d, corev1.DisruptionTarget, "Custom", corev1.PodReady),
					Status: pick(d, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown),
				})
			}
		}
		p.Rules = append(p.Rules, r)
	}
	return p
}

func TestFailurePolicy(t *testing.T) {
	each(t, 2, func(t *testing.T, d draw, reached func(string)) {
		policy, p := d.failurePolicy(), d.pod("pod")
		got := failurepolicy.FromAPI(policy).Match(p)
		want := real.MatchFailurePolicy(policy, p)
		if got.Action != want.Action || got.Counts() != want.Counted || got.Message() != want.Message {
			t.Errorf("policy %s, pod %s:\njobfate    %s, counts %t, %q\nKubernetes %s, counts %t, %q",
				text(policy), text(p.Status), got.Action, got.Counts(), got.Message(), want.Action, want.Counted, want.Message)
		}
		reached(fmt.Sprintf("action %s, exit code %t, condition %t", want.Action, got.ExitCode != 0, got.Condition != ""))
	})
}

// successPolicy draws a policy for some completions, and for the indexes that have succeeded. The rules
// have indexes that the API server accepts, which need not be canonical.
func (d draw) successPolicy(n int32, completed indexset.Set) *batchv1.SuccessPolicy {
	policy := &batchv1.SuccessPolicy{}
	for range d.upTo(3) {
		var r batchv1.SuccessPolicyRule
		if d.percent(65) {
			named := d.indexes(n)
			if d.percent(50) { // few enough to be met
				named = named.Intersection(completed).Union(indexset.Of(d.Int32N(n)))
			}
			r.SucceededIndexes = new(d.ungrouped(named))
		}
		if r.SucceededIndexes == nil || d.percent(40) {
			r.SucceededCount = new(int32(d.upTo(12)))
		}
		if d.percent(5) {
			r = batchv1.SuccessPolicyRule{}
		}
		policy.Rules = append(policy.Rules, r)
	}
	return policy
}

func TestSuccessPolicy(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		n := int32(1 + d.upTo(30))
		completed := d.indexes(n)
		policy := d.successPolicy(n, completed)
		if d.percent(5) {
			policy = nil
		}
		rule := lifecycle.NewSuccessPolicy(policy, n).Match(completed)
		got := ""
		if rule >= 0 {
			got = fmt.Sprintf("Matched rules at index %d", rule)
		}
		want := real.MatchSuccessPolicy(policy, n, intervals(completed))
		if got != want {
			t.Errorf("policy %s, %d completions, completed %s: jobfate %q, Kubernetes %q", text(policy), n, completed, got, want)
		}
		reached("rule " + fmt.Sprint(rule))
	})
}
