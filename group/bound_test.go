package group_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
)

// restartsGroup reports whether a step restarts the group, which empties the budgets with renew.
func restartsGroup(s group.Step) bool {
	return s.Action == group.RestartGroup || s.Action == group.SuspendGroup
}

func restarts(s group.Step) bool {
	return restartsGroup(s) || s.Action == group.RestartTemplate || s.Action == group.RestartMember
}

// mostRestarts returns the bound of the package comment: the group restarts at most as often as these steps find units
// in budgets that they do not empty, and all restarts find units in budgets, in those with renew again after each
// restart of the group.
func mostRestarts(p *group.Policy, members []group.Member) (n int64, bounded bool) {
	groups, bounded := cover(p, restartsGroup, func(b group.Budget) (int64, bool) { return units(b, members), !b.Renew })
	if !bounded {
		return 0, false
	}
	return cover(p, restarts, func(b group.Budget) (int64, bool) {
		if b.Renew {
			return units(b, members) * (1 + groups), true
		}
		return units(b, members), true
	})
}

// units returns how many units a budget has: Max for the group, for each template or for each member.
func units(b group.Budget, members []group.Member) int64 {
	parts := map[group.Member]bool{}
	for _, m := range members {
		switch b.Per {
		case group.PerTemplate:
			m.Name = ""
		case group.PerMember:
			m.Template = ""
		default:
			m = member("", "all")
		}
		if m != (group.Member{}) {
			parts[m] = true
		}
	}
	return int64(b.Max) * int64(len(parts))
}

// cover returns the fewest units of budgets without a window of which each of these steps needs one. It tries all sets
// of budgets.
func cover(p *group.Policy, of func(group.Step) bool, units func(group.Budget) (int64, bool)) (least int64, possible bool) {
	for set := range 1 << len(p.Budgets) {
		var sum int64
		chosen := map[string]bool{}
		for i, b := range p.Budgets {
			if n, ok := units(b); ok && b.Window == nil && set&(1<<i) != 0 {
				sum, chosen[b.Name] = sum+n, true
			}
		}
		missed := func(s group.Step) bool {
			return of(s) && !slices.ContainsFunc(s.Charges, func(name string) bool { return chosen[name] })
		}
		misses := func(r group.Rule) bool { return slices.ContainsFunc(r.Steps, missed) }
		if !slices.ContainsFunc(p.Rules, misses) && (!possible || sum < least) {
			least, possible = sum, true
		}
	}
	return least, possible
}

// reaches returns the most restarts of a group after any failures.
func reaches(t *testing.T, p *group.Policy, members []group.Member) (most int64) {
	t.Helper()
	d, err := group.NewDecider(p)
	if err != nil {
		t.Fatal(err)
	}
	seen, todo := map[string]bool{}, []group.State{{}}
	for len(todo) > 0 && len(seen) < 10_000 {
		state := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		most = max(most, state.Restarts())
		for _, m := range members {
			for _, class := range []string{"", "A"} {
				got, err := d.Decide(state, []group.Failure{{Member: m, Attempt: state.Attempt(m), Class: class}}, noon)
				if err != nil {
					t.Fatal(err)
				}
				next := got.State.Resume()
				if text := textOf(next); !seen[text] {
					seen[text] = true
					todo = append(todo, next)
				}
			}
		}
	}
	return most
}

// A group restarts as often as its budgets allow, and no more.
func TestDecide_restartsReachTheBound(t *testing.T) {
	for name, tc := range map[string]struct {
		policy string
		want   int64 // -1 for no bound
	}{
		"no policy":   {`{}`, 0},
		"no unit":     {`{budgets: [{name: x, max: 0}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, 0},
		"group":       {`{budgets: [{name: x, max: 3}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, 3},
		"suspensions": {`{budgets: [{name: x, max: 2}], rules: [{steps: [{action: SuspendGroup, charges: [x]}]}]}`, 2},
		"templates":   {`{budgets: [{name: x, per: Template, max: 2}], rules: [{steps: [{action: RestartTemplate, charges: [x]}]}]}`, 4},
		"members":     {`{budgets: [{name: x, per: Member, max: 2}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, 6},
		"members, then the group": {`{budgets: [{name: x, per: Member, max: 2}, {name: y, max: 1}], rules: [
			{steps: [{action: RestartMember, charges: [x]}, {action: RestartGroup, charges: [y]}]}]}`, 3*2 + 1},
		"members, then the group, with renew": {`{budgets: [{name: x, per: Member, max: 2, renew: true}, {name: y, max: 1}], rules: [
			{steps: [{action: RestartMember, charges: [x]}, {action: RestartGroup, charges: [y]}]}]}`, 3*2*(1+1) + 1},
		"members, then their template, then suspensions": {`{budgets: [{name: x, per: Member, max: 1, renew: true}, {name: y, per: Template, max: 1, renew: true},
			{name: z, max: 1}], rules: [{steps: [{action: RestartMember, charges: [x]}, {action: RestartTemplate, charges: [y]},
			{action: SuspendGroup, charges: [z]}]}]}`, (3+2)*(1+1) + 1},
		"a group that cannot restart renews nothing": {`{budgets: [{name: x, per: Member, max: 2, renew: true}, {name: y, max: 0}], rules: [
			{steps: [{action: RestartMember, charges: [x]}, {action: RestartGroup, charges: [y]}]}]}`, 3 * 2},
		"a budget for all steps": {`{budgets: [{name: x, per: Member, max: 2, renew: true}, {name: y, max: 3}], rules: [
			{steps: [{action: RestartMember, charges: [x, y]}, {action: RestartGroup, charges: [y]}]}]}`, 3},
		"a budget for all steps that is never used up": {`{budgets: [{name: x, max: 1}, {name: y, max: 2}, {name: z, max: 9}], rules: [
			{onClasses: [A], steps: [{action: RestartMember, charges: [x, z]}]}, {steps: [{action: RestartGroup, charges: [y, z]}]}]}`, 1 + 2},
		"one of the charges is kept": {`{budgets: [{name: x, per: Template, max: 1, renew: true}, {name: y, max: 3}], rules: [
			{steps: [{action: RestartGroup, charges: [x, y]}]}]}`, 3},
		"a step that is free": {`{rules: [{steps: [{action: RestartMember}]}]}`, -1},
		"a window":            {`{budgets: [{name: x, max: 1, window: 1h}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, -1},
		"a window, and a budget that is emptied": {`{budgets: [{name: x, max: 1, window: 1h}, {name: y, per: Member, max: 1, renew: true}], rules: [
			{steps: [{action: RestartGroup, charges: [x, y]}]}]}`, -1},
	} {
		p, three := policyOf(t, tc.policy), members[:3]
		most, bounded := mostRestarts(p, three)
		if !bounded {
			most = -1
		} else if got := reaches(t, p, three); got != most {
			t.Errorf("%s: %d restarts are possible, the bound is %d", name, got, most)
		}
		if most != tc.want {
			t.Errorf("%s: the bound is %d, want %d", name, most, tc.want)
		}
	}
}

// The last of the units that a budget can have: nothing is added to the largest number.
func TestDecide_largestBudget(t *testing.T) {
	p := policyOf(t, fmt.Sprintf(`{budgets: [{name: x, max: %d}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`, math.MaxInt32))
	state := group.State{Group: group.Part{Used: map[string]group.Use{"x": {Count: math.MaxInt32 - 1}}}}
	for i, want := range []group.Action{group.RestartGroup, group.FailGroup} {
		d, err := group.Decide(p, state, []group.Failure{{Attempt: state.Attempt(group.Member{})}}, noon)
		if err != nil || d.Action != want || d.State.Group.Used["x"].Count != math.MaxInt32 {
			t.Errorf("failure %d: %s, %v, want %s", i, textOf(d), err, want)
		}
		state = d.State
	}
}

// "The number of restarts has a bound if all steps that restart charge a budget without a window, and those that
// restart or suspend the group one that has no renew either". Without windows, the latter is what Check requires.
func TestDecide_restartsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		last := group.Budget{Name: "last", Max: rapid.Int32Range(0, 3).Draw(t, "max"),
			Per: rapid.SampledFrom([]group.Scope{group.PerGroup, group.PerTemplate, group.PerMember}).Draw(t, "per")}
		p.Budgets = append(p.Budgets, last)
		windows := rapid.IntRange(0, 3).Draw(t, "windows") == 3
		for i := range p.Budgets {
			if !windows {
				p.Budgets[i].Window, p.Budgets[i].Wait = nil, false
			}
		}
		for _, r := range p.Rules {
			for i := range r.Steps {
				if s := &r.Steps[i]; restarts(*s) && len(s.Charges) == 0 {
					s.Charges = []string{"last"}
				}
			}
		}
		most, bounded := mostRestarts(p, members)
		switch {
		case !bounded && windows:
			return
		case !bounded:
			t.Fatalf("Check accepts restarts without end: %s", textOf(p))
		}
		live(t, p, func(state group.State, _ group.Decision, _ time.Time) {
			if n := state.Restarts(); n > most {
				t.Fatalf("%d restarts, the bound is %d: %s", n, most, textOf(state))
			}
		})
	})
}

// "Window is the period in which Max applies": in no window are more restarts than Max.
func TestDecide_restartsInAWindow(t *testing.T) {
	type part struct {
		budget string
		of     group.Member
	}
	rapid.Check(t, func(t *rapid.T) {
		p, restarted := drawPolicy(t), map[part][]time.Time{}
		for _, r := range p.Rules {
			for i := range r.Steps {
				r.Steps[i].Backoff = nil // the Jobs are created at the time of the charge
			}
		}
		live(t, p, func(_ group.State, d group.Decision, failed time.Time) {
			if d.Rule < 0 || d.Step < 0 || !restarts(p.Rules[d.Rule].Steps[d.Step]) {
				return
			}
			for _, b := range p.Budgets {
				if b.Window == nil || b.Renew || !slices.Contains(p.Rules[d.Rule].Steps[d.Step].Charges, b.Name) {
					continue
				}
				of := part{b.Name, map[group.Scope]group.Member{group.PerTemplate: member("", d.Failure.Template),
					group.PerMember: member(d.Failure.Name, "")}[b.Per]}
				when := roundUp(failed)
				if !d.NotBefore.IsZero() {
					when = d.NotBefore
				}
				restarted[of] = append(restarted[of], when)
				for _, end := range restarted[of] {
					inside := slices.DeleteFunc(slices.Clone(restarted[of]), func(t time.Time) bool {
						return t.After(end) || !t.After(end.Add(-b.Window.Duration))
					})
					if len(inside) > int(b.Max) {
						t.Fatalf("budget %s: restarts at %v", b.Name, inside)
					}
				}
			}
		})
	})
}

// live runs a group through failures that do not end it, and resumes it after suspensions. It calls check after each
// decision, with the time of the failure.
func live(t *rapid.T, p *group.Policy, check func(group.State, group.Decision, time.Time)) {
	d, err := group.NewDecider(p)
	if err != nil {
		t.Fatal(err)
	}
	var state group.State
	for call := range 40 {
		got, err := d.Decide(state, drawFailures(t, &state, call), at(call))
		if err != nil {
			t.Fatal(err)
		}
		next := stored(t, got.State).Resume()
		if next.Phase != "" {
			continue
		}
		state = next
		failed := got.Failure.At
		if failed.IsZero() || failed.After(at(call)) {
			failed = at(call)
		}
		check(state, got, failed)
	}
}
