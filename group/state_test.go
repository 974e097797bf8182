package group_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// StateSize is exact: the state has that size once all budgets are used up, and all counters are at
// their largest.
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
	if got, want := group.StateSize(nil, members), len(`{"version":1,"phase":"Suspended"}`); got != want {
		t.Errorf("without a policy: %d, want %d", got, want)
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

// "The decisions of a call and of the calls after it are the same if the failures arrive one by one in
// the order in which rules and times would choose them."
func TestDecide_split(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, now := drawPolicy(t), at(100)
		failures := drawFailures(t, &group.State{}, 100)
		var together group.State
		var order []group.Failure
		for range len(failures) + 1 {
			d, err := group.Decide(policy, together, failures, now)
			if err != nil {
				t.Fatal(err)
			}
			if d.Action != "" {
				order = append(order, d.Failure)
			}
			if together = d.State; d.Open == 0 {
				break
			}
		}
		var apart group.State
		for _, f := range append(order, failures...) {
			d, err := group.Decide(policy, apart, []group.Failure{f}, now)
			if err != nil {
				t.Fatal(err)
			}
			apart = stored(t, d.State)
		}
		if got, want := textOf(apart), textOf(together); got != want {
			t.Fatalf("one by one: %s\ntogether:   %s", got, want)
		}
	})
}

// If each member has budgets of its own and is restarted alone, the order has no effect at all.
func TestDecide_anyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var policy group.Policy
		for i := range rapid.IntRange(1, 3).Draw(t, "budgets") {
			name := fmt.Sprint(i)
			b := group.Budget{Name: name, Per: group.PerMember, Max: rapid.Int32Range(1, 3).Draw(t, "max")}
			if rapid.Bool().Draw(t, "windowed") {
				b.Window, b.Wait = window(time.Minute), rapid.Bool().Draw(t, "wait")
			}
			policy.Budgets = append(policy.Budgets, b)
			action := rapid.SampledFrom([]group.Action{group.RestartMember, group.Leave}).Draw(t, "action")
			policy.Rules = append(policy.Rules, group.Rule{OnClasses: some(t, "classes", "Infra", "User"),
				Steps: []group.Step{{Action: action, Charges: []string{name}}}})
		}
		policy.Rules = append(policy.Rules, group.Rule{Steps: []group.Step{{Action: group.RestartMember}}})
		if rapid.IntRange(0, 3).Draw(t, "no last step") > 0 {
			for i := range policy.Rules[:len(policy.Rules)-1] {
				if !policy.Budgets[i].Wait {
					policy.Rules[i].Steps = append(policy.Rules[i].Steps, group.Step{Action: group.Leave})
				}
			}
		}
		var failures []group.Failure
		for _, m := range members[:4] {
			if rapid.Bool().Draw(t, "fails") {
				failures = append(failures, group.Failure{Member: m, At: at(rapid.IntRange(0, 3).Draw(t, "second")),
					Class: rapid.SampledFrom([]string{"", "Infra", "User"}).Draw(t, "class")})
			}
		}
		end := func(order []group.Failure) string {
			var state group.State
			for _, f := range order {
				d, err := group.Decide(&policy, state, []group.Failure{f}, at(10))
				if err != nil {
					t.Fatal(err)
				}
				state = d.State
			}
			return textOf(state)
		}
		if a, b := end(failures), end(rapid.Permutation(failures).Draw(t, "order")); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// No policy fails the group at the first failure. What is refused says why.
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
		"rules[0].steps: Required value: at least one step":                                        {wrong, 0, f},
		"the state has version 7, and this library knows 1":                                        {nil, 7, f},
		`a Job of member "a-0" failed in attempt 1, and the state has attempt 0: the state is old`: {nil, 0, later},
	} {
		d, err := group.Decide(in.policy, group.State{Version: in.version}, in.failures, noon)
		if err == nil || err.Error() != want || d.Changed {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
