package group_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
)

// "during a rolling upgrade an old library refuses the state of a new one, instead of losing a part
// of it".
func TestDecide_newerState(t *testing.T) {
	var state group.State
	if err := json.Unmarshal([]byte(`{"version": 2, "group": {"restarts": 3}, "new": true}`), &state); err != nil {
		t.Fatal(err)
	}
	for _, failures := range [][]group.Failure{nil, {{Member: members[0], Attempt: 3}}} {
		d, err := group.Decide(policyOf(t, escalating), state, failures, noon)
		var unknown *group.UnknownVersionError
		if !errors.As(err, &unknown) || unknown.Version != 2 || d.Changed || d.Action != "" {
			t.Errorf("%s, %v", textOf(d), err)
		}
	}
}

// The states that version 1 can have. An old one must always be readable: do not change them.
func TestState_format(t *testing.T) {
	const text = `{"version":1,"phase":"Suspended",` +
		`"group":{"restarts":1,"notBefore":"2026-05-01T12:00:10Z","used":{"together":{"count":1}}},` +
		`"templates":{"a":{"restarts":2,"used":{"hourly":{"times":["2026-05-01T12:00:00Z","2026-05-01T12:00:01Z"]}}}},` +
		`"members":{"a-0":{"restarts":3,"left":6}}}`
	var state group.State
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	if got := textOf(state); strings.ReplaceAll(got, "Z", "Z") != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}
	a := member("a-0", "a")
	if got := []any{state.Attempt(a), state.Left(a), state.Attempt(member("b", "")), state.NotBefore(a).Equal(at(10))}; fmt.Sprint(got) != "[6 true 1 true]" {
		t.Errorf("got %v", got)
	}
	if resumed := state.Resume(); resumed.Phase != "" || resumed.Resume().Phase != "" || state.Phase != group.Suspended {
		t.Error("Resume does not end the suspension alone")
	}
	if ended := (group.State{Phase: group.Failed}).Resume(); ended.Phase != group.Failed {
		t.Error("a group that has failed is resumed")
	}
}

// The state has the size StateSize once all budgets are used up, and all counters are at their largest.
func TestStateSize(t *testing.T) {
	policy := policyOf(t, `{budgets: [{name: one, per: Member, max: 1}, {name: hourly, per: Template, max: 3, window: 1h}, {name: "<b>", max: 2}],
		rules: [{steps: [{action: RestartMember, charges: [one]}, {action: RestartTemplate, charges: [hourly]}, {action: SuspendGroup, charges: ["<b>"]}, {action: Leave}]}]}`)
	members := []group.Member{member("a-0", "a"), member("a-1", "a"), member("b-0", "b"), member("alone", ""), {}}
	const most = math.MaxInt32
	left, end := int64(3*most), `"9999-12-31T23:59:59Z"`
	partOf := func(name, used string) string {
		return fmt.Sprintf(`%q:{"restarts":%d,"notBefore":%s%s}`, name, most, end, used)
	}
	var state group.State
	perMember := fmt.Sprintf(`,"left":%d,"used":{"one":{"count":1}}`, left)
	perTemplate := fmt.Sprintf(`,"used":{"hourly":{"times":[%s,%s,%s]}}`, end, end, end)
	text := `{"version":1,"phase":"Suspended",` + partOf("group", `,"used":{"<b>":{"count":2}}`) +
		`,"templates":{` + partOf("a", perTemplate) + "," + partOf("b", perTemplate) +
		`},"members":{` + partOf("a-0", perMember) + "," + partOf("a-1", perMember) + "," + partOf("b-0", perMember) + "," + partOf("alone", perMember) + `}}`
	if err := json.Unmarshal([]byte(text), &state); err != nil {
		t.Fatal(err)
	}
	if got, want := group.StateSize(policy, members), len(textOf(state)); got != want {
		t.Errorf("StateSize is %d, the largest state has %d bytes: %s", got, want, textOf(state))
	}
	text = `{"version":1,"phase":"Suspended","members":{` + partOf("a-0", "") + `}}`
	if got := group.StateSize(policyOf(t, `{rules: [{steps: [{action: RestartMember}]}]}`), members[:1]); got != len(text) {
		t.Errorf("only members are restarted: StateSize is %d, want that of %s", got, text)
	}
	if got, want := group.StateSize(nil, members), len(`{"version":1,"phase":"Suspended"}`); got != want {
		t.Errorf("without a policy: %d, want %d", got, want)
	}
	refused := policyOf(t, `{budgets: [{name: x, max: 2, window: 1h}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	refused.Budgets[0].Max = most
	if got := group.StateSize(refused, members); got > 3000 {
		t.Errorf("of a policy that Check refuses: %d, want at most that of the largest budget with a window", got)
	}
}

// The API server accepts condition times of the year 0, and stores no zero time: a list of times with null would
// make the state invalid.
func TestDecide_firstYears(t *testing.T) {
	hourly := policyOf(t, `{budgets: [{name: x, max: 2, window: 1h}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	for _, year := range []int{-1, 0, 1} {
		first := group.Failure{Member: member("a-0", "a"), At: time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)}
		d, err := group.Decide(hourly, group.State{}, []group.Failure{first}, noon)
		if text := textOf(d.State); err != nil || d.Action != group.RestartGroup || strings.Contains(text, "null") {
			t.Errorf("year %d: %s, %v", year, text, err)
		}
		if again := stored(t, d.State); textOf(again) != textOf(d.State) {
			t.Errorf("year %d: stored as %s", year, textOf(again))
		}
	}
}

// A state that another client has changed does not stop a controller, and no counter wraps around.
func TestDecide_tamperedState(t *testing.T) {
	state := group.State{Group: group.Part{Restarts: math.MaxInt32}, Members: map[string]group.Part{"a-0": {Restarts: -5}}}
	f := group.Failure{Member: member("a-0", "a"), Attempt: math.MaxInt32, At: noon}
	restart := policyOf(t, `{rules: [{steps: [{action: RestartGroup}]}]}`)
	if d, err := group.Decide(restart, state, []group.Failure{f}, noon); err != nil || d.Action != group.FailGroup || d.Step != -1 {
		t.Errorf("a restart that cannot be counted: %s, %v", textOf(d), err)
	}
	alone := policyOf(t, `{rules: [{steps: [{action: RestartMember}]}]}`)
	if d, err := group.Decide(alone, state, []group.Failure{f}, noon); err != nil || d.State.Members["a-0"].Restarts != 1 {
		t.Errorf("restarts below zero: %s, %v", textOf(d), err)
	}
	hourly := policyOf(t, `{budgets: [{name: x, max: 2, window: 1h}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	disordered := group.State{Group: group.Part{Used: map[string]group.Use{"x": {Count: -7, Times: times(10, -4000)}, "gone": {Count: 1}}}}
	f.Attempt = 0
	d, err := group.Decide(hourly, disordered, []group.Failure{f}, noon)
	want := map[string]group.Use{"x": {Times: times(0, 10)}}
	if diff := cmp.Diff(want, d.State.Group.Used); err != nil || d.Action != group.RestartGroup || diff != "" {
		t.Errorf("times that are not in order: %s, %v\n%s", textOf(d), err, diff)
	}
}

// decideAll decides about failures one after another, each of the current attempt. It returns the last decision.
func decideAll(t *testing.T, policy string, failures ...group.Failure) (d group.Decision) {
	t.Helper()
	p := policyOf(t, policy)
	for _, f := range failures {
		f.Attempt = d.State.Attempt(f.Member)
		var err error
		if d, err = group.Decide(p, d.State, []group.Failure{f}, f.At); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// Of two windows that are used up, the later one decides, whatever their order.
func TestDecide_twoWindows(t *testing.T) {
	f := group.Failure{Member: members[0], At: noon}
	for _, charges := range []string{"[long, short]", "[short, long]"} {
		d := decideAll(t, `{budgets: [{name: long, max: 1, window: 1h, wait: true}, {name: short, max: 1, window: 1m, wait: true}],
			rules: [{steps: [{action: RestartGroup, charges: `+charges+`}]}]}`, f, f)
		if want := noon.Add(time.Hour); !d.NotBefore.Equal(want) {
			t.Errorf("%s: not before %v, want %v", charges, d.NotBefore, want)
		}
	}
}

// "NotBefore is when the Jobs that are restarted may be created": what restarts nothing, or at once, has none.
func TestDecide_withoutNotBefore(t *testing.T) {
	a, b := group.Failure{Member: members[0], At: noon}, group.Failure{Member: members[1], At: noon}
	d := decideAll(t, `{budgets: [{name: x, max: 1, window: 1h, wait: true}], rules: [{steps: [{action: Leave, charges: [x]}]}]}`, a, b)
	if d.Action != group.Leave || !d.NotBefore.IsZero() {
		t.Errorf("a member that is left after a wait: %s, want no time", textOf(d))
	}
	if d = decideAll(t, `{rules: [{steps: [{action: RestartGroup}]}]}`, a); d.State.Group.NotBefore != nil {
		t.Errorf("a restart at once: not before %v, want none", d.State.Group.NotBefore)
	}
}

// "a restart of the group empties the budget", and only those with Renew.
func TestDecide_renew(t *testing.T) {
	a := group.Failure{Member: members[0], At: noon}
	d := decideAll(t, `{budgets: [{name: all, per: Member, max: 9}, {name: renewed, per: Member, max: 1, renew: true}, {name: shared, max: 9}],
		rules: [{steps: [{action: RestartMember, charges: [all, renewed, shared]}, {action: RestartGroup, charges: [shared]}]}]}`, a, a)
	if got := textOf(d.State); got != `{"version":1,"group":{"restarts":1,"used":{"shared":{"count":2}}},"members":{"a-0":{"restarts":1,"used":{"all":{"count":1}}}}}` {
		t.Errorf("got %s", got)
	}
}

// Times have a text: the last one is in the year 9999.
func TestDecide_farFuture(t *testing.T) {
	p := policyOf(t, `{budgets: [{name: x, max: 1, window: 99999h, wait: true}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	state := group.State{}
	for range 800 {
		d, err := group.Decide(p, state, []group.Failure{{Attempt: state.Attempt(group.Member{}), At: noon}}, noon)
		if err != nil || d.Action != group.RestartGroup {
			t.Fatalf("%s, %v", textOf(d), err)
		}
		state = stored(t, d.State)
	}
	if got := state.NotBefore(group.Member{}); got.Year() != 9999 {
		t.Errorf("not before %s", got)
	}
}

// oneByOne decides about failures, each as soon as it is known. It returns the end, and the decision about
// each member's failure.
func oneByOne(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, d *group.Decider, state group.State, order []group.Failure) (group.State, map[string]group.Decision) {
	decisions := map[string]group.Decision{}
	for _, f := range order {
		got, err := d.Decide(state, []group.Failure{f}, at(100))
		if err != nil {
			t.Fatal(err)
		}
		if got.Open != 0 || (got.Action == "") != (state.Phase != "" || f.Attempt < state.Attempt(f.Member) || state.Left(f.Member)) {
			t.Fatalf("%s after %s", textOf(got), textOf(state))
		}
		state = stored(t, got.State)
		got.State = group.State{}
		decisions[textOf(f.Member)] = got
	}
	return state, decisions
}

// "The end is that of one call if the failures arrive in the order in which it decides about them", "In any
// other order the end is the same unless an earlier decision changes a later one", in one of two ways.
func TestDecide_split(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, state := drawPolicy(t), group.State{}
		d, err := group.NewDecider(policy)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "decisions before") {
			before, err := d.Decide(state, drawFailures(t, &state, 50), at(50))
			if err != nil {
				t.Fatal(err)
			}
			if before.State.Phase == "" {
				state = stored(t, before.State)
			}
		}
		var failures []group.Failure
		for _, m := range members[:4] {
			failures = append(failures, group.Failure{Member: m, Attempt: state.Attempt(m), At: at(90 + rapid.IntRange(0, 10).Draw(t, "second")),
				Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Class: rapid.SampledFrom([]string{"", "Infra", "User"}).Draw(t, "class")})
		}
		together, order := state, []group.Failure{}
		for open := true; open; {
			got, err := d.Decide(together, failures, at(100))
			if err != nil {
				t.Fatal(err)
			}
			if together, open = got.State, got.Open > 0; got.Action != "" {
				order = append(order, got.Failure)
			}
		}
		end, decisions := oneByOne(t, d, state, order)
		if textOf(end) != textOf(stored(t, together)) {
			t.Fatalf("one by one: %s\ntogether:   %s", textOf(end), textOf(together))
		}
		other, otherwise := oneByOne(t, d, state, rapid.Permutation(order).Draw(t, "another order"))
		for _, s := range []group.State{end, other} {
			if err := withinBudgets(policy, &s); err != nil {
				t.Fatal(err)
			}
		}
		if textOf(end) != textOf(other) && !interact(policy, decisions, otherwise) {
			t.Fatalf("nothing explains\n%s\n%s", textOf(end), textOf(other))
		}
	})
}

// The smallest example of each way.
func TestDecide_splitMatters(t *testing.T) {
	a := group.Failure{Member: members[0], At: at(1), Class: "A"}
	b := group.Failure{Member: members[1], At: at(2), Class: "B"}
	for name, tc := range map[string]struct{ policy, ab, ba string }{
		"void": {`{rules: [{onClasses: [A], steps: [{action: RestartMember}]}, {steps: [{action: RestartGroup}]}]}`,
			`{"version":1,"group":{"restarts":1},"members":{"a-0":{"restarts":1}}}`, `{"version":1,"group":{"restarts":1}}`},
		"budget": {`{budgets: [{name: x, max: 1}], rules: [{steps: [{action: RestartMember, charges: [x]}, {action: Leave}]}]}`,
			`{"version":1,"group":{"used":{"x":{"count":1}}},"members":{"a-0":{"restarts":1},"a-1":{"left":0}}}`,
			`{"version":1,"group":{"used":{"x":{"count":1}}},"members":{"a-0":{"left":0},"a-1":{"restarts":1}}}`},
	} {
		d, err := group.NewDecider(policyOf(t, tc.policy))
		if err != nil {
			t.Fatal(err)
		}
		ab, _ := oneByOne(t, d, group.State{}, []group.Failure{a, b})
		ba, _ := oneByOne(t, d, group.State{}, []group.Failure{b, a})
		if textOf(ab) != tc.ab || textOf(ba) != tc.ba {
			t.Errorf("%s:\n%s\n%s", name, textOf(ab), textOf(ba))
		}
	}
}

// interact reports whether a decision can have changed another: a failure was void, or two rules charge a budget.
func interact(policy *group.Policy, a, b map[string]group.Decision) bool {
	charged := map[string]int{}
	for m, d := range a {
		if d.Action == "" || b[m].Action == "" {
			return true
		}
		if d.Rule < 0 {
			continue
		}
		budgets := map[string]bool{}
		for _, s := range policy.Rules[d.Rule].Steps {
			for _, name := range s.Charges {
				if b := policy.Budgets[slices.IndexFunc(policy.Budgets, func(b group.Budget) bool { return b.Name == name })]; b.Per != group.PerMember {
					budgets[name] = true
				}
			}
		}
		for name := range budgets {
			charged[name]++
		}
	}
	for _, n := range charged {
		if n > 1 {
			return true
		}
	}
	return false
}

// withinBudgets checks that nothing is charged more often than its budget allows.
func withinBudgets(p *group.Policy, s *group.State) error {
	parts := []group.Part{s.Group}
	for _, of := range []map[string]group.Part{s.Templates, s.Members} {
		parts = slices.AppendSeq(parts, maps.Values(of))
	}
	for _, part := range parts {
		for name, use := range part.Used {
			i := slices.IndexFunc(p.Budgets, func(b group.Budget) bool { return b.Name == name })
			if max(int(use.Count), len(use.Times)) > int(p.Budgets[i].Max) {
				return fmt.Errorf("budget %s: %s", name, textOf(part))
			}
		}
	}
	return nil
}

// Without a policy, the first failure fails the group. Errors say what is wrong.
func TestDecide_nilPolicyAndErrors(t *testing.T) {
	f := []group.Failure{{Member: members[0], Attempt: 0, At: noon}}
	if d, err := group.Decide(nil, group.State{}, f, noon); err != nil || d.Action != group.FailGroup || d.Rule != -1 {
		t.Errorf("no policy: %s, %v", textOf(d), err)
	}
	wrong := &group.Policy{Rules: []group.Rule{{}}}
	later := []group.Failure{{Member: members[0], Attempt: 1}}
	for want, in := range map[string]struct {
		policy   *group.Policy
		version  int32
		failures []group.Failure
	}{
		"rules[0].steps: Required value: at least one step":                                    {wrong, 0, f},
		"the state has version 7, and this library knows 1":                                    {nil, 7, f},
		`a Job of member "a-0" is of attempt 1, and the state has attempt 0: the state is old`: {nil, 0, later},
	} {
		d, err := group.Decide(in.policy, group.State{Version: in.version}, in.failures, noon)
		if err == nil || err.Error() != want || d.Changed || d.Rule != -1 || d.Step != -1 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
