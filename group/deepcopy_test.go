package group_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// A copy is equal, and shares no memory that can change.
func TestDeepCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, state := drawPolicy(t), group.State{}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			d := Must(group.Decide(policy, state, drawFailures(t, &state, 100), at(100)))
			state = d.State
		}
		SharesNothing(t, policy, policy.DeepCopy())
		SharesNothing(t, &state, state.DeepCopy())
	})
	ended := group.State{}.Finish(group.Failed, "Because", noon)
	SharesNothing(t, &ended, ended.DeepCopy())
	if (*group.Policy)(nil).DeepCopy() != nil || (*group.State)(nil).DeepCopy() != nil {
		t.Error("the copy of nil is not nil")
	}
	p := policyOf(t, `{budgets: [{name: x, max: 1, window: 1h}], rules: [{onReasons: [A], onRuleNames: [A], onClasses: [A], onMessagePatterns: [A],
		onExitCodes: {operator: In, values: [1], containerName: A}, templates: [A], members: [A], steps: [{action: RestartGroup, charges: [x], backoff: {}}]}]}`)
	SharesNothing(t, p, p.DeepCopy())
	SharesNothing(t, &p.Budgets[0], p.Budgets[0].DeepCopy())
	SharesNothing(t, &p.Rules[0], p.Rules[0].DeepCopy())
	SharesNothing(t, &p.Rules[0].Steps[0], p.Rules[0].Steps[0].DeepCopy())
	used := group.Use{Times: times(1, 2), QuietSince: &times(1)[0]}
	part := group.Part{Restarts: 1, NotBefore: &times(1)[0], LeftAttempt: new(int32), Used: map[string]group.Use{"x": used}}
	SharesNothing(t, &part, part.DeepCopy())
	SharesNothing(t, &used, used.DeepCopy())
}
