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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// "during a rolling upgrade an old library refuses the state of a new one, instead of losing a part
// of it".
func TestDecide_newerState(t *testing.T) {
	state := stateOf(`{"version": 2, "group": {"restarts": 3}, "new": true}`)
	for _, failures := range [][]group.Failure{nil, {{Member: members[0], Attempt: 3}}} {
		d, err := group.Decide(policyOf(t, escalating), state, failures, noon)
		var unknown *group.UnknownVersionError
		if !errors.As(err, &unknown) || unknown.Version != 2 || d.Changed || d.Action != "" {
			t.Errorf("%s, %v", ToJSON(d), err)
		}
	}
}

// The states that version 1 can have. An old one must always be readable: do not change them.
func TestState_format(t *testing.T) {
	const text = `{"version":1,"phase":"Suspended",` +
		`"group":{"restarts":1,"notBefore":"2026-05-01T12:00:10Z","used":{"together":{"count":1}}},` +
		`"templates":{"a":{"restarts":2,"used":{"hourly":{"times":["2026-05-01T12:00:00Z","2026-05-01T12:00:01Z"]}}}},` +
		`"members":{"a-0":{"restarts":3,"leftAttempt":6}}}`
	const ended = `{"version":1,"phase":"Failed","end":{"reason":"BackoffLimitExceeded","rule":"escalate","time":"2026-05-01T12:00:00Z"}}`
	state := stateOf(text)
	Same(t, "the state, written again", ToJSON(state), text)
	const renewed = `{"version":1,"members":{"a-0":{"restarts":1,"used":{"alone":{"count":1,"quietSince":"2026-05-01T12:00:05Z","progress":7}}}}}`
	for _, text := range []string{ended, renewed} {
		var s group.State
		if err := json.Unmarshal([]byte(text), &s); err != nil || ToJSON(s) != text || s.End != nil && s.End.Rule != "escalate" {
			t.Errorf("got  %s, %v\nwant %s", ToJSON(s), err, text)
		}
	}
	a := member("a-0", "a")
	Same(t, "attempt, left, attempt of another, not before",
		fmt.Sprint(state.Attempt(a), state.Left(a), state.Attempt(member("b", "")), state.NotBefore(a).Equal(at(10))), "6 true 1 true")
	if resumed := state.Resume(); resumed.Phase != "" || resumed.Resume().Phase != "" || state.Phase != group.Suspended {
		t.Error("Resume does not end the suspension alone")
	}
	Same(t, "a group that has failed is resumed", (group.State{Phase: group.Failed}).Resume().Phase, group.Failed)
}

// The state has the size StateSize once all budgets are used up, and all counters are at their largest.
func TestStateSize(t *testing.T) {
	policy := policyOf(t, `{budgets: [{name: one, per: Member, max: 1, renew: {quiet: 1h, progress: 1}}, {name: hourly, per: Template, max: 3, window: 1h}, {name: "<b>", max: 2}],
		rules: [{name: "<&>", steps: [{action: RestartMember, charges: [one]}, {action: RestartTemplate, charges: [hourly]}, {action: SuspendGroup, charges: ["<b>"]}, {action: Leave}]}]}`)
	members := []group.Member{member("a-0", "a"), member("a-1", "a"), member("b-0", "b"), member("alone", ""), {}}
	const most = math.MaxInt32
	left, end := most, `"9999-12-31T23:59:59Z"`
	partOf := func(name, used string) string {
		return fmt.Sprintf(`%q:{"restarts":%d,"notBefore":%s%s}`, name, most, end, used)
	}
	perMember := fmt.Sprintf(`,"leftAttempt":%d,"used":{"one":{"count":1,"quietSince":%s,"progress":%d}}`,
		left, end, int64(math.MaxInt64))
	perTemplate := fmt.Sprintf(`,"used":{"hourly":{"times":[%s,%s,%s]}}`, end, end, end)
	ended := func(rule string) string {
		return fmt.Sprintf(`{"version":1,"phase":"Complete","end":{"reason":"%s",%s"time":%s}`, strings.Repeat("R", 256), rule, end)
	}
	text := ended(`"rule":"<&>",`) + `,` + partOf("group", `,"used":{"<b>":{"count":2}}`) +
		`,"templates":{` + partOf("a", perTemplate) + "," + partOf("b", perTemplate) +
		`},"members":{` + partOf("a-0", perMember) + "," + partOf("a-1", perMember) + "," + partOf("b-0", perMember) + "," + partOf("alone", perMember) + `}}`
	Same(t, "StateSize", group.StateSize(policy, members), len(ToJSON(stateOf(text))))
	text = ended(`"rule":"0",`) + `,"members":{` + partOf("a-0", "") + `}}`
	restart := policyOf(t, `{rules: [{steps: [{action: RestartMember}]}]}`)
	Same(t, "StateSize if only members are restarted", group.StateSize(restart, members[:1]), len(text))
	Same(t, "without a policy", group.StateSize(nil, members), len(ended("")+"}"))
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
		if text := ToJSON(d.State); err != nil || d.Action != group.RestartGroup || strings.Contains(text, "null") {
			t.Errorf("year %d: %s, %v", year, text, err)
		}
		Same(t, fmt.Sprintf("year %d, stored", year), ToJSON(stored(d.State)), ToJSON(d.State))
	}
}

// A state that another client has changed does not stop a controller, and no counter wraps around.
func TestDecide_tamperedState(t *testing.T) {
	f := group.Failure{Member: member("a-0", "a"), Attempt: math.MaxInt32, At: noon}
	restart := policyOf(t, `{rules: [{steps: [{action: RestartGroup}]}]}`)
	for _, one := range [][2]int32{{math.MaxInt32, -5}, {math.MaxInt32, math.MaxInt32}, {math.MaxInt32 - 1, 1}} {
		state := group.State{Group: group.Part{Restarts: one[0]}, Members: map[string]group.Part{"a-0": {Restarts: one[1]}}}
		d, err := group.Decide(restart, state, []group.Failure{f}, noon)
		if err != nil || d.Action != group.FailGroup || d.Step != -1 || state.Restarts() != math.MaxInt32 {
			t.Errorf("a restart that cannot be counted: %s, %v", ToJSON(d), err)
		}
	}
	f.Attempt--
	state := group.State{Group: group.Part{Restarts: math.MaxInt32 - 1}, Members: map[string]group.Part{"a-0": {Restarts: -5}}}
	alone := policyOf(t, `{rules: [{steps: [{action: RestartMember}]}]}`)
	Same(t, "restarts below zero", Must(group.Decide(alone, state, []group.Failure{f}, noon)).State.Members["a-0"].Restarts, 1)
	hourly := policyOf(t, `{budgets: [{name: x, max: 2, window: 1h}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	disordered := group.State{Group: group.Part{Used: map[string]group.Use{"x": {Count: -7, Times: times(10, -4000)}, "gone": {Count: 1}}}}
	f.Attempt = 0
	d, err := group.Decide(hourly, disordered, []group.Failure{f}, noon)
	want := map[string]group.Use{"x": {Times: times(0, 10)}}
	if diff := cmp.Diff(want, d.State.Group.Used); err != nil || d.Action != group.RestartGroup || diff != "" {
		t.Errorf("times that are not in order: %s, %v\n%s", ToJSON(d), err, diff)
	}
}

// decideAll decides about failures one after another, each of the current attempt. It returns the last decision.
func decideAll(t *testing.T, policy string, failures ...group.Failure) (d group.Decision) {
	t.Helper()
	p := policyOf(t, policy)
	for _, f := range failures {
		f.Attempt = d.State.Attempt(f.Member)
		d = Must(group.Decide(p, d.State, []group.Failure{f}, f.At))
	}
	return d
}

// Of two windows that are used up, the later one decides, whatever their order.
func TestDecide_twoWindows(t *testing.T) {
	f := group.Failure{Member: members[0], At: noon}
	for _, charges := range []string{"[long, short]", "[short, long]"} {
		d := decideAll(t, `{budgets: [{name: long, max: 1, window: 1h, wait: true}, {name: short, max: 1, window: 1m, wait: true}],
			rules: [{steps: [{action: RestartGroup, charges: `+charges+`}]}]}`, f, f)
		Same(t, fmt.Sprint(charges, ": not before"), d.NotBefore, noon.Add(time.Hour))
	}
}

// "NotBefore is when the Jobs that are restarted may be created": what restarts nothing, or at once, has none.
func TestDecide_withoutNotBefore(t *testing.T) {
	a, b := group.Failure{Member: members[0], At: noon}, group.Failure{Member: members[1], At: noon}
	d := decideAll(t, `{budgets: [{name: x, max: 1, window: 1h, wait: true}], rules: [{steps: [{action: Leave, charges: [x]}]}]}`, a, b)
	if d.Action != group.Leave || !d.NotBefore.IsZero() {
		t.Errorf("a member that is left after a wait: %s, want no time", ToJSON(d))
	}
	d = decideAll(t, `{rules: [{steps: [{action: RestartGroup}]}]}`, a)
	Same(t, "a restart at once: not before", d.State.Group.NotBefore, nil)
	const once = `{budgets: [{name: x, max: 1}], rules: [{steps: [{action: RestartMember, charges: [x], backoff: {base: 5m}}, `
	d = decideAll(t, once+`{action: RestartMember}]}]}`, a, a)
	Same(t, "a restart at once after one with a delay", ToJSON(d.State.Members["a-0"]), `{"restarts":2}`)
	if d = decideAll(t, once+`{action: Leave}]}]}`, a, a); !d.State.NotBefore(members[0]).Equal(at(300)) || !d.State.Left(members[0]) {
		t.Errorf("a member that is left after a delay: %s, want the time of its last restart", ToJSON(d.State))
	}
}

// "a restart of the group empties the budget", and only those with WithGroup.
func TestDecide_renew(t *testing.T) {
	a := group.Failure{Member: members[0], At: noon}
	d := decideAll(t, `{budgets: [{name: all, per: Member, max: 9}, {name: renewed, per: Member, max: 1, renew: {withGroup: true}}, {name: shared, max: 9}],
		rules: [{steps: [{action: RestartMember, charges: [all, renewed, shared]}, {action: RestartGroup, charges: [shared]}]}]}`, a, a)
	Same(t, "the state", ToJSON(d.State),
		`{"version":1,"group":{"restarts":1,"used":{"shared":{"count":2}}},"members":{"a-0":{"restarts":1,"used":{"all":{"count":1}}}}}`)
}

// "Decide never changes a State": neither its maps, nor its lists, nor what is behind the end of a list.
func TestDecide_inputUnchanged(t *testing.T) {
	p := policyOf(t, `{budgets: [{name: x, max: 3, window: 1h}, {name: m, per: Member, max: 9, renew: {withGroup: true}},
		{name: t, per: Template, max: 9, renew: {withGroup: true}}], rules: [{onClasses: [Leave], steps: [{action: Leave, charges: [x, m, t]}]},
		{onClasses: [Template], steps: [{action: RestartTemplate, charges: [x, m, t]}]},
		{onClasses: [Member], steps: [{action: RestartMember, charges: [x, m, t]}]}, {steps: [{action: RestartGroup, charges: [x]}]}]}`)
	list := times(-10, -20, -30) // not in order; the last one is behind the end
	used := func(name string) map[string]group.Part {
		return map[string]group.Part{name: {Restarts: 1, Used: map[string]group.Use{"m": {Count: 1}, "t": {Count: 1}}}}
	}
	state := group.State{Templates: used("a"), Members: used("a-0")}
	state.Group.Used = map[string]group.Use{"x": {Times: list[:2]}}
	before := ToJSON(state)
	for _, class := range []string{"Leave", "Template", "Member", "Group"} {
		f := group.Failure{Member: members[0], Attempt: 2, At: noon, Class: class}
		if d, err := group.Decide(p, state, []group.Failure{f}, noon); err != nil || !d.Changed || d.Step != 0 {
			t.Fatalf("%s: %s, %v", class, ToJSON(d), err)
		}
		if diff := cmp.Diff(times(-10, -20, -30), list) + cmp.Diff(before, ToJSON(state)); diff != "" {
			t.Errorf("%s has changed the state that it was given:\n%s", class, diff)
		}
	}
}

// "The Decider does not refer to the policy."
func TestNewDecider_policyChanges(t *testing.T) {
	p := policyOf(t, `{budgets: [{name: x, max: 1}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	d := Must(group.NewDecider(p))
	p.Budgets[0].Max, p.Rules[0].Steps[0].Action = 0, group.Leave
	Same(t, "the step of the policy that it was made of", Must(d.Decide(group.State{}, []group.Failure{{Member: members[0]}}, noon)).Action, group.RestartGroup)
}

// A state may have the charges of another policy, or odd ones: "A budget whose per changes, or that gets or loses its
// window, starts again", and Max applies at once.
func TestDecide_changedBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		budget string
		used   group.Use
		want   group.Use // after the step; empty if it cannot be taken
	}{
		"one more":                        {`max: 2`, group.Use{Count: 1}, group.Use{Count: 2}},
		"a smaller max":                   {`max: 2`, group.Use{Count: 5}, group.Use{}},
		"a count below zero":              {`max: 2`, group.Use{Count: -5}, group.Use{Count: 1}},
		"no window any more":              {`max: 1`, group.Use{Times: times(-9)}, group.Use{Count: 1}},
		"a new window":                    {`max: 1, window: 1h`, group.Use{Count: 9}, group.Use{Times: times(0)}},
		"a smaller max in a window":       {`max: 1, window: 1h, wait: true`, group.Use{Times: times(-9, -8)}, group.Use{Times: times(3592)}},
		"the window ends now":             {`max: 2, window: 1h`, group.Use{Times: times(-3600, -1000)}, group.Use{Times: times(-1000, 0)}},
		"the window ends in a second":     {`max: 2, window: 1h`, group.Use{Times: times(-3599, -1000)}, group.Use{}},
		"the last unit of the largest":    {`max: 2147483647`, group.Use{Count: math.MaxInt32 - 1}, group.Use{Count: math.MaxInt32}},
		"no unit of the largest is left":  {`max: 2147483647`, group.Use{Count: math.MaxInt32}, group.Use{}},
		"a progress below zero":           {`max: 2, renew: {progress: 10}`, group.Use{Count: 1, Progress: -5}, group.Use{Count: 2}},
		"a smaller window":                {`max: 1, window: 1m`, group.Use{Times: times(-61)}, group.Use{Times: times(0)}},
		"a charge after that of the step": {`max: 2, window: 1m`, group.Use{Times: times(30)}, group.Use{Times: times(0, 30)}},
	} {
		p := policyOf(t, `{budgets: [{name: x, `+tc.budget+`}], rules: [{steps: [{action: SuspendGroup, charges: [x]}]}]}`)
		state := group.State{Group: group.Part{Used: map[string]group.Use{"x": tc.used}}}
		d, err := group.Decide(p, state, []group.Failure{{At: noon}}, noon)
		got := d.State.Group.Used["x"]
		if d.Action == group.FailGroup {
			got = group.Use{}
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %s, %v\n%s", name, ToJSON(d), err, diff)
		}
	}
	// x was a budget of members: what was charged to it is dropped when another budget of the member is charged.
	p := policyOf(t, `{budgets: [{name: x, max: 1}, {name: z, per: Member, max: 2}], rules: [
		{steps: [{action: RestartMember, charges: [x, z]}]}]}`)
	state := group.State{Members: map[string]group.Part{"a-0": {Used: map[string]group.Use{"x": {Count: 1}, "z": {Count: 1}}}}}
	d, err := group.Decide(p, state, []group.Failure{{Member: members[0]}}, noon)
	const want = `{"version":1,"group":{"used":{"x":{"count":1}}},"members":{"a-0":{"restarts":1,"used":{"z":{"count":2}}}}}`
	if got := ToJSON(d.State); err != nil || got != want {
		t.Errorf("another per: %s, %v\nwant %s", got, err, want)
	}
}

// A time is the same in every zone: JSON has one, and reading a state gives times the zone of the machine. Decisions
// are in UTC.
func TestDecide_zones(t *testing.T) {
	east, west := time.FixedZone("east", 7*3600), time.FixedZone("west", -5*3600)
	hourly := policyOf(t, `{budgets: [{name: x, max: 2, window: 1h, wait: true}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	decide := func(used []metav1.Time, failures ...group.Failure) group.Decision {
		state := group.State{Group: group.Part{Used: map[string]group.Use{"x": {Times: used}}}}
		return Must(group.Decide(hourly, state, failures, noon.In(east)))
	}
	first, second := metav1.NewTime(at(-100).In(east)), metav1.NewTime(at(-50).In(west)) // as texts, the second is earlier
	want := decide(times(-100, -50), group.Failure{At: noon})
	got := decide([]metav1.Time{second, first}, group.Failure{At: noon.In(west)})
	if got.NotBefore != want.NotBefore || got.NotBefore != at(3500) {
		t.Errorf("not before %v, want %v", got.NotBefore, at(3500))
	}
	if diff := cmp.Diff(want.State, got.State); diff != "" || got.State.Group.Used["x"].Times[1].Location() != time.UTC {
		t.Errorf("another state: %s", diff)
	}
	// The zero time in another zone is no time either.
	Same(t, "no time: charged at", decide(nil, group.Failure{At: time.Time{}.In(east)}).State.Group.Used["x"].Times, times(0))
	// Of failures of the same time, the name decides.
	got = decide(nil, group.Failure{Member: members[1], At: noon.In(west)}, group.Failure{Member: members[0], At: noon})
	Same(t, "the member whose failure decides", got.Failure.Name, "a-0")
}

// "OnExitCodes is a requirement on the container that failed the Job."
func TestDecide_onExitCodes(t *testing.T) {
	for _, tc := range []struct {
		on, container string
		code          int32
		want          int // the rule
	}{
		{`{operator: In, values: [2, 3]}`, "main", 3, 0}, {`{operator: In, values: [2, 3]}`, "", 4, -1},
		{`{operator: NotIn, values: [2]}`, "main", 3, 0}, {`{operator: NotIn, values: [2]}`, "main", 2, -1},
		{`{operator: NotIn, values: [2]}`, "main", 0, -1},
		{`{operator: In, values: [2], containerName: main}`, "main", 2, 0}, {`{operator: In, values: [2], containerName: main}`, "other", 2, -1},
		{`{operator: NotIn, values: [2], containerName: main}`, "", 3, -1},
	} {
		p := policyOf(t, `{rules: [{onExitCodes: `+tc.on+`, steps: [{action: Leave}]}]}`)
		f := group.Failure{Member: members[0], Container: tc.container, ExitCode: tc.code}
		Same(t, fmt.Sprintf("%s, exit code %d of %q: rule", tc.on, tc.code, tc.container), Must(group.Decide(p, group.State{}, []group.Failure{f}, noon)).Rule, tc.want)
	}
}

// Times have a text: the last one is in the year 9999.
func TestDecide_farFuture(t *testing.T) {
	p := policyOf(t, `{budgets: [{name: x, max: 1, window: 99999h, wait: true}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`)
	state := group.State{}
	for range 800 {
		d, err := group.Decide(p, state, []group.Failure{{Attempt: state.Attempt(group.Member{}), At: noon}}, noon)
		if err != nil || d.Action != group.RestartGroup {
			t.Fatalf("%s, %v", ToJSON(d), err)
		}
		state = stored(d.State)
	}
	Same(t, "the year", state.NotBefore(group.Member{}).Year(), 9999)
	last := time.Date(9999, time.December, 31, 23, 59, 58, 0, time.UTC)
	for _, failed := range []time.Time{last, last.Add(time.Second), last.Add(time.Second + 1), last.Add(time.Hour)} {
		d, err := group.Decide(p, group.State{}, []group.Failure{{At: failed}}, failed)
		want := min(failed.Sub(last), time.Second)
		if got := d.State.Group.Used["x"].Times; err != nil || len(got) != 1 || got[0].Sub(last) != want {
			t.Errorf("a failure at %v: charged at %v, %v", failed, got, err)
		}
	}
}

// oneByOne decides about failures, each as soon as it is known. It returns the end, and the decision about
// each member's failure.
func oneByOne(t rapid.TB, d *group.Decider, state group.State, order []group.Failure) (group.State, map[string]group.Decision) {
	decisions := map[string]group.Decision{}
	for _, f := range order {
		got := Must(d.Decide(state, []group.Failure{f}, at(100)))
		if got.Open != 0 || (got.Action == "") != (state.Phase != "" || f.Attempt < state.Attempt(f.Member) || state.Left(f.Member)) {
			t.Fatalf("%s after %s", ToJSON(got), ToJSON(state))
		}
		state = stored(got.State)
		got.State = group.State{}
		decisions[ToJSON(f.Member)] = got
	}
	return state, decisions
}

// "The end is that of one call if the failures arrive in the order in which it decides about them", "In any
// other order the end is the same unless an earlier decision changes a later one", in one of two ways.
func TestDecide_split(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy, state := drawPolicy(t), group.State{}
		d := Must(group.NewDecider(policy))
		for range rapid.IntRange(0, 3).Draw(t, "decisions before") {
			before := Must(d.Decide(state, drawFailures(t, &state, 50), at(50)))
			if before.State.Phase == "" {
				state = stored(before.State)
			}
		}
		var failures []group.Failure
		for _, m := range members[:4] {
			failures = append(failures, group.Failure{Member: m, Attempt: state.Attempt(m), At: at(90 + rapid.IntRange(0, 10).Draw(t, "second")),
				Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Class: rapid.SampledFrom([]string{"", "Infra", "User"}).Draw(t, "class")})
		}
		together, order := state, []group.Failure{}
		for open := true; open; {
			got := Must(d.Decide(together, failures, at(100)))
			if together, open = got.State, got.Open > 0; got.Action != "" {
				order = append(order, got.Failure)
			}
		}
		end, decisions := oneByOne(t, d, state, order)
		Same(t, "one by one, and together", ToJSON(end), ToJSON(stored(together)))
		other, otherwise := oneByOne(t, d, state, rapid.Permutation(order).Draw(t, "another order"))
		for _, s := range []group.State{end, other} {
			NoError(t, withinBudgets(policy, &s))
		}
		if ToJSON(end) != ToJSON(other) && !interact(policy, decisions, otherwise) {
			t.Fatalf("nothing explains\n%s\n%s", ToJSON(end), ToJSON(other))
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
			`{"version":1,"group":{"used":{"x":{"count":1}}},"members":{"a-0":{"restarts":1},"a-1":{"leftAttempt":0}}}`,
			`{"version":1,"group":{"used":{"x":{"count":1}}},"members":{"a-0":{"leftAttempt":0},"a-1":{"restarts":1}}}`},
	} {
		d := Must(group.NewDecider(policyOf(t, tc.policy)))
		ab, _ := oneByOne(t, d, group.State{}, []group.Failure{a, b})
		ba, _ := oneByOne(t, d, group.State{}, []group.Failure{b, a})
		Same(t, name, []string{ToJSON(ab), ToJSON(ba)}, []string{tc.ab, tc.ba})
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
				return fmt.Errorf("budget %s: %s", name, ToJSON(part))
			}
		}
	}
	return nil
}

// "The error says which requirements cannot be read", whether or not a failure meets them.
func TestFirstMatch_unreadable(t *testing.T) {
	m, err := group.FirstMatch([]group.Rule{{OnMessagePatterns: []string{"("}}}, []group.Failure{{Member: members[0]}})
	if err == nil || !strings.Contains(err.Error(), "rules[0].onMessagePatterns[0]: Invalid value") || m != (group.Match{Rule: -1, Position: -1}) {
		t.Errorf("%+v, %v, want no match and the field", m, err)
	}
}

// Without a policy, the first failure fails the group. Errors say what is wrong.
func TestDecide_nilPolicyAndErrors(t *testing.T) {
	f := []group.Failure{{Member: members[0], Attempt: 0, At: noon}}
	d := Must(group.Decide(nil, group.State{}, f, noon))
	Same(t, "no policy: action, rule", Pair(d.Action, d.Rule), Pair(group.FailGroup, -1))
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
		if err == nil || err.Error() != want || d.Changed || d.Rule != -1 || d.Step != -1 || d.Position != -1 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
