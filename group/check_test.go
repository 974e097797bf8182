package group_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestCheck(t *testing.T) {
	const noMembers = ""
	for name, tc := range map[string]struct {
		policy, members string
		want            string // the error; empty for none
	}{
		"nothing":     {`{}`, "a-0:a", ""},
		"a valid one": {`{budgets: [{name: x, per: Member, max: 1}], rules: [{steps: [{action: RestartMember, charges: [x]}, {action: FailGroup}]}]}`, "a-0:a", ""},
		"no steps":    {`{rules: [{onReasons: [X]}]}`, noMembers, `spec.rules[0].steps: Required value: at least one step`},
		"a wrong action": {`{rules: [{steps: [{action: Restart}]}]}`, noMembers,
			`spec.rules[0].steps[0].action: Unsupported value: "Restart": supported values: "CompleteGroup", "FailGroup", "Leave", "RestartGroup", "RestartMember", "RestartTemplate", "SuspendGroup"`},
		"an unknown budget": {`{rules: [{steps: [{action: Leave, charges: [x]}]}]}`, noMembers, `spec.rules[0].steps[0].charges[0]: Not found: "x"`},
		"charged twice":     {`{budgets: [{name: x, max: 1}], rules: [{steps: [{action: Leave, charges: [x, x]}]}]}`, noMembers, `spec.rules[0].steps[0].charges[1]: Duplicate value: "x"`},
		"two of a name":     {`{budgets: [{name: x, max: 1}, {name: x, max: 2}]}`, noMembers, `spec.budgets[1].name: Duplicate value: "x"`},
		"no name":           {`{budgets: [{max: 1}]}`, noMembers, `spec.budgets[0].name: Required value: steps charge a budget by its name`},
		"two rules of a name": {`{rules: [{name: x, onReasons: [X], steps: [{action: Leave}]}, {name: x, steps: [{action: Leave}]}]}`, noMembers,
			`spec.rules[1].name: Duplicate value: "x"`},
		"an unknown scope": {`{budgets: [{name: x, per: Pod, max: 1}]}`, noMembers, `spec.budgets[0].per: Unsupported value: "Pod": supported values: "Group", "Member", "Template"`},
		"a negative max":   {`{budgets: [{name: x, max: -1}]}`, noMembers, `spec.budgets[0].max: Invalid value: -1: must be greater than or equal to 0`},
		"a wait forever":   {`{budgets: [{name: x, max: 1, wait: true}]}`, noMembers, `spec.budgets[0].wait: Invalid value: true: needs a window: without one, a used budget stays used`},
		"a short window":   {`{budgets: [{name: x, max: 1, window: 10ms}]}`, noMembers, `spec.budgets[0].window: Invalid value: "10ms": must be at least 1s`},
		// JobSet has no such bound: its state is a number.
		"a window without a bound": {`{budgets: [{name: x, max: 101, window: 1h}]}`, noMembers,
			`spec.budgets[0].max: Invalid value: 101: must be from 1 to 100 with a window, because the state has the time of each`},
		"a large window": {`{budgets: [{name: x, max: 100, window: 1h}]}`, noMembers, ""},
		"an exit code of no failure": {`{rules: [{onExitCodes: {operator: In, values: [0, 1]}, steps: [{action: Leave}]}]}`, noMembers,
			`spec.rules[0].onExitCodes.values[0]: Invalid value: 0: is not the exit code of a failure`},
		"a window without room": {`{budgets: [{name: x, max: 0, window: 1h}]}`, noMembers,
			`spec.budgets[0].max: Invalid value: 0: must be from 1 to 100 with a window, because the state has the time of each`},
		"renewed group":       {`{budgets: [{name: x, max: 1, renew: {withGroup: true}}]}`, noMembers, `spec.budgets[0].renew.withGroup: Invalid value: true: is for budgets of templates and members`},
		"a short quiet time":  {`{budgets: [{name: x, max: 1, renew: {quiet: 10ms}}]}`, noMembers, `spec.budgets[0].renew.quiet: Invalid value: "10ms": must be at least 1s`},
		"a negative progress": {`{budgets: [{name: x, max: 1, renew: {progress: -1}}]}`, noMembers, `spec.budgets[0].renew.progress: Invalid value: -1: must not be negative`},
		"a step that renews its only budget": {`{budgets: [{name: x, per: Member, max: 1, renew: {withGroup: true}}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, noMembers,
			`spec.rules[0].steps[0].charges: Invalid value: ["x"]: RestartGroup empties all these budgets: charge one without withGroup, or none`},
		"a wrong pattern":  {`{rules: [{onMessagePatterns: [ok, "(" ], steps: [{action: Leave}]}]}`, noMembers, "spec.rules[0].onMessagePatterns[1]: Invalid value: \"(\": error parsing regexp: missing closing ): `(`"},
		"a wrong operator": {`{rules: [{onExitCodes: {operator: Is, values: [1]}, steps: [{action: Leave}]}]}`, noMembers, `spec.rules[0].onExitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"`},
		"no exit codes":    {`{rules: [{onExitCodes: {operator: In, values: []}, steps: [{action: Leave}]}]}`, noMembers, `spec.rules[0].onExitCodes.values: Required value: at least one exit code`},
		"exit code 0":      {`{rules: [{onExitCodes: {operator: In, values: [1, 0]}, steps: [{action: Leave}]}]}`, noMembers, `spec.rules[0].onExitCodes.values[1]: Invalid value: 0: is not the exit code of a failure`},
		"behind a step that is free": {`{rules: [{steps: [{action: RestartMember}, {action: FailGroup}]}]}`, noMembers,
			`spec.rules[0].steps[1]: Invalid value: "FailGroup": is behind a step that is always possible`},
		"behind a step that waits": {`{budgets: [{name: x, max: 1, window: 1h, wait: true}], rules: [{steps: [{action: RestartMember, charges: [x]}, {action: FailGroup}]}]}`, noMembers,
			`spec.rules[0].steps[1]: Invalid value: "FailGroup": is behind a step that is always possible`},
		"a delayed end": {`{rules: [{steps: [{action: FailGroup, backoff: {}}]}]}`, noMembers,
			`spec.rules[0].steps[0].backoff: Forbidden: only restarts and suspensions are delayed`},
		"a wrong backoff": {`{rules: [{steps: [{action: RestartMember, backoff: {base: -1s, cap: -2s, factor: 0.5}}]}]}`, noMembers,
			"spec.rules[0].steps[0].backoff.base: Invalid value: \"-1s\": must not be negative\n" +
				"spec.rules[0].steps[0].backoff.cap: Invalid value: \"-2s\": must not be negative\n" +
				"spec.rules[0].steps[0].backoff.factor: Invalid value: 0.5: must be at least 1, or 0 for the default"},
		"a member without an identity": {`{rules: [{steps: [{action: RestartMember}]}]}`, "a-0:a :b",
			`spec.rules[0].steps[0]: Invalid value: "RestartMember": a member of template "b" has no name that survives a restart`},
		"left without an identity": {`{rules: [{steps: [{action: Leave}]}]}`, ":b",
			`spec.rules[0].steps[0]: Invalid value: "Leave": a member of template "b" has no name that survives a restart`},
		"a budget without an identity": {`{budgets: [{name: x, per: Member, max: 1}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, ":b",
			`spec.rules[0].steps[0]: Invalid value: "RestartGroup": a member of template "b" has no name that survives a restart`},
		"a rule that the member without an identity cannot match": {`{rules: [{templates: [a], steps: [{action: RestartMember}]}]}`, "a-0:a :b", ""},
		"a member without a template": {`{rules: [{steps: [{action: RestartTemplate}]}]}`, "a-0:a x:",
			`spec.rules[0].steps[0]: Invalid value: "RestartTemplate": member "x" has no template`},
		"a template that the group does not have": {`{rules: [{templates: [a, b], steps: [{action: RestartGroup}]}]}`, "a-0:a",
			`spec.rules[0].templates[1]: Not found: "b"`},
		"a member that the group does not have": {`{rules: [{members: [a-0, a-1], steps: [{action: RestartGroup}]}]}`, "a-0:a",
			`spec.rules[0].members[1]: Not found: "a-1"`},
		"a member of another template": {`{rules: [{templates: [b], members: [b-0, a-0], steps: [{action: RestartGroup}]}]}`, "a-0:a b-0:b",
			`spec.rules[0].members[1]: Invalid value: "a-0": is not a member of these templates`},
		"behind a rule for all failures": {`{rules: [{steps: [{action: Leave}]}, {name: x, members: [a-0], steps: [{action: RestartGroup}]}, {steps: [{action: Leave}]}]}`, noMembers,
			"spec.rules[1]: Invalid value: \"x\": is behind a rule that matches all failures\n" +
				"spec.rules[2]: Invalid value: \"\": is behind a rule that matches all failures"},
		"behind rules for some failures": {`{rules: [{onReasons: [X], steps: [{action: Leave}]}, {onRuleNames: [X], steps: [{action: Leave}]}, {onClasses: [X], steps: [{action: Leave}]},
			{onMessagePatterns: [X], steps: [{action: Leave}]}, {onExitCodes: {operator: In, values: [1]}, steps: [{action: Leave}]},
			{templates: [a], steps: [{action: Leave}]}, {members: [a-0], steps: [{action: Leave}]}, {steps: [{action: Leave}]}]}`, "a-0:a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := uncheckedPolicy(tc.policy)
			var members []group.Member
			for _, text := range strings.Fields(tc.members) {
				name, template, _ := strings.Cut(text, ":")
				members = append(members, member(name, template))
			}
			errs := p.Check(members, field.NewPath("spec"))
			Same(t, "errors", strings.Join(texts(errs), "\n"), tc.want)
			// NewDecider refuses the same policies, apart from those that are wrong only for these members.
			if _, err := group.NewDecider(p); (err != nil) != (tc.want != "" && tc.members == noMembers) {
				t.Errorf("NewDecider: %v", err)
			}
		})
	}
}

// fieldsOf returns the fields with errors.
func fieldsOf(errs field.ErrorList) string {
	return strings.Join(Fields(errs), " ")
}

// "A step that restarts or suspends the group must charge a budget without WithGroup, or none, because it empties the
// others".
func TestCheck_renewedByItself(t *testing.T) {
	for rules, want := range map[string]string{ // the fields with errors
		"RestartGroup template+": "rules[0].steps[0].charges",
		"SuspendGroup member+":   "rules[0].steps[0].charges",
		"RestartGroup hourly+":   "rules[0].steps[0].charges",
		"RestartGroup none+":     "rules[0].steps[0].charges",
		"RestartMember template+, RestartGroup member+ template+": "rules[0].steps[1].charges",
		// Two templates, or a template and a member, that renew each other.
		"RestartGroup template+; RestartGroup template+":                                 "rules[0].steps[0].charges rules[1].steps[0].charges",
		"RestartGroup template+; SuspendGroup member+":                                   "rules[0].steps[0].charges rules[1].steps[0].charges",
		"RestartGroup template+ unknown":                                                 "rules[0].steps[0].charges[1]",
		"RestartGroup template+ member+ template":                                        "",
		"SuspendGroup hourly member+":                                                    "", // at most once in an hour
		"RestartGroup template+ nine; SuspendGroup member+ template":                     "",
		"RestartMember member+, RestartGroup nine":                                       "",
		"RestartGroup; RestartMember member+":                                            "", // the rule 0 is free, as it says
		"RestartTemplate template+, SuspendGroup; RestartTemplate member+, RestartGroup": "",
		"RestartMember template+, RestartTemplate member+":                               "", // these empty nothing
		"Leave member+; CompleteGroup member+; FailGroup template+":                      "",
	} {
		p := &group.Policy{Budgets: budgetsOf(t), Rules: rulesOf(rules)}
		Same(t, rules+": errors at", fieldsOf(p.Check(nil, nil)), want)
	}
	// A budget of the group may not have renew, and no restart empties it.
	shared := &group.Policy{Budgets: []group.Budget{{Name: "x", Max: 1, Renew: group.Renewal{WithGroup: true}}}, Rules: rulesOf("RestartGroup x")}
	Same(t, "a budget of the group: the error of its renew alone", fieldsOf(shared.Check(nil, nil)), "budgets[0].renew.withGroup")
}

// "With nil the members are not known yet": a group without members has no templates.
func TestCheck_withoutMembers(t *testing.T) {
	p := policyOf(t, `{rules: [{templates: [a], steps: [{action: RestartGroup}]}]}`)
	Same(t, "members that are not known", p.Check(nil, nil), nil)
	Same(t, "no members", texts(p.Check([]group.Member{}, nil)), []string{`rules[0].templates[0]: Not found: "a"`})
}

func texts(errs field.ErrorList) []string { return Each(errs, (*field.Error).Error) }

// Two members of the same name would share their restarts.
func TestCheckMembers(t *testing.T) {
	path := func(i int) *field.Path { return field.NewPath("spec", "jobs").Index(i).Child("name") }
	if got := group.CheckMembers([]group.Member{member("a", "x"), {}, {}, member("b", ""), member("a", "y")}, path); len(got) != 1 ||
		got[0].Error() != `spec.jobs[4].name: Duplicate value: "a"` {
		t.Errorf("got %v", got)
	}
	if got := group.CheckMembers([]group.Member{member("a", ""), member("a", "")}, nil); len(got) != 1 || got[0].Error() != `[1]: Duplicate value: "a"` {
		t.Errorf("without paths: got %v", got)
	}
}
