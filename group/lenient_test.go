package group_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Each mistake, what is left, and the fields of the errors.
func TestLenient(t *testing.T) {
	const one = `{budgets: [{name: one, max: 1}], rules: [`
	for name, tc := range map[string]struct{ policy, want, fields string }{
		"nothing is wrong": {one + `{steps: [{action: RestartGroup, charges: [one]}]}]}`, one + `{steps: [{action: RestartGroup, charges: [one]}]}]}`, ""},
		"one of two patterns": {`{rules: [{onMessagePatterns: ["(", a], steps: [{action: Leave}]}]}`,
			`{rules: [{onMessagePatterns: [a], steps: [{action: Leave}]}]}`, "spec.rules[0].onMessagePatterns[0]"},
		"the only pattern": {`{rules: [{onReasons: [A], onMessagePatterns: ["("], steps: [{action: Leave}]}, {steps: [{action: Leave}]}]}`,
			`{rules: [{onReasons: [A], onMessagePatterns: ['[^\s\S]'], steps: [{action: Leave}]}, {steps: [{action: Leave}]}]}`, "spec.rules[0].onMessagePatterns[0]"},
		"exit codes": {`{rules: [{onMessagePatterns: [a], onExitCodes: {operator: In, values: [0]}, steps: [{action: Leave}]}]}`,
			`{rules: [{onMessagePatterns: ['[^\s\S]'], steps: [{action: Leave}]}]}`, "spec.rules[0].onExitCodes.values[0]"},
		"behind a rule for all": {`{rules: [{steps: [{action: Leave}]}, {onReasons: [A], steps: [{action: Leave}]}]}`,
			`{rules: [{steps: [{action: Leave}]}]}`, "spec.rules[1]"},
		"two rules of a name": {`{rules: [{name: x, onReasons: [A], steps: [{action: Leave}]}, {name: x, onReasons: [B], steps: [{action: Leave}]}, {steps: [{action: Leave}]}]}`,
			`{rules: [{name: x, onReasons: [A], steps: [{action: Leave}]}, {onReasons: [B], steps: [{action: Leave}]}, {steps: [{action: Leave}]}]}`, "spec.rules[1].name"},
		"an action": {`{rules: [{onReasons: [A], steps: [{action: Stop}]}, {steps: [{action: Leave}]}]}`,
			`{rules: [{onReasons: [A], steps: [{action: FailGroup}]}, {steps: [{action: Leave}]}]}`, "spec.rules[0].steps[0].action"},
		"no steps": {`{rules: [{}]}`, `{rules: [{steps: [{action: FailGroup}]}]}`, "spec.rules[0].steps"},
		"a budget that is not there": {one + `{steps: [{action: RestartMember, charges: [other]}, {action: RestartGroup, charges: [one]}]}]}`,
			one + `{steps: [{action: RestartGroup, charges: [one]}]}]}`, "spec.rules[0].steps[0].charges[0]"},
		"behind a step that is always possible": {one + `{steps: [{action: RestartMember, charges: [other]}, {action: RestartGroup}, {action: Leave}]}]}`,
			one + `{steps: [{action: RestartGroup}]}]}`, "spec.rules[0].steps[0].charges[0] spec.rules[0].steps[2]"},
		"a budget": {`{budgets: [{name: one, max: 1}, {name: two, max: -1}, {name: "", max: 1}, {name: one, max: 2}], rules: [{steps: [{action: Leave, charges: [one, two]}, {action: Leave, charges: [one]}]}]}`,
			one + `{steps: [{action: Leave, charges: [one]}]}]}`, "spec.budgets[1].max spec.budgets[2].name spec.budgets[3].name"},
		"the first budget of a name": {`{budgets: [{name: one, max: -1}, {name: one, max: 1}], rules: [{steps: [{action: Leave, charges: [one]}]}]}`,
			`{rules: [{steps: [{action: FailGroup}]}]}`, "spec.budgets[0].max spec.budgets[1].name"},
	} {
		p := uncheckedPolicy(tc.policy)
		before := ToJSON(p)
		got, errs := p.Lenient(field.NewPath("spec"))
		Same(t, name, ToJSON(got), ToJSON(policyOf(t, tc.want)))
		Same(t, name+": errors at", fieldsOf(errs), tc.fields)
		Same(t, name+": the policy", ToJSON(p), before)
	}
	if p, errs := (*group.Policy)(nil).Lenient(nil); p != nil || errs != nil {
		t.Errorf("no policy: %v, %v", p, errs)
	}
}
