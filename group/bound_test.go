package group_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// restartsGroup reports whether a step restarts the group, which empties the budgets with renew.
func restartsGroup(s group.Step) bool {
	return s.Action == group.RestartGroup || s.Action == group.SuspendGroup
}

func restarts(s group.Step) bool {
	return restartsGroup(s) || s.Action == group.RestartTemplate || s.Action == group.RestartMember
}

// forgives reports whether a budget is renewed without a restart of the group.
func forgives(b group.Budget) bool { return b.Renew.Quiet != 0 || b.Renew.Progress != 0 }

// chargedPart names the part of the group whose budget a failure of a member charges; empty for none.
func chargedPart(b group.Budget, m group.Member) string {
	switch b.Per {
	case group.PerTemplate:
		return m.Template
	case group.PerMember:
		return m.Name
	}
	return "the group"
}

// mostRestarts returns the bound of the package comment: the group restarts at most as often as these steps find units
// in budgets that they do not empty, and all restarts find units in budgets, in those with renew again after each
// restart of the group.
func mostRestarts(p *group.Policy, members []group.Member) (n int32, bounded bool) {
	groups, bounded := fewestUnits(p, members, restartsGroup, 0)
	if !bounded {
		return 0, false
	}
	return fewestUnits(p, members, restarts, groups+1)
}

// fewestUnits returns the size of the smallest set of budgets without a window such that each of these steps charges one
// of them. A budget with renew counts as often as it is filled. It tries all sets of budgets.
func fewestUnits(p *group.Policy, members []group.Member, of func(group.Step) bool, filled int32) (least int32, possible bool) {
	for set := range 1 << len(p.Budgets) {
		var sum int32
		chosen := map[string]bool{}
		for i, b := range p.Budgets {
			if set&(1<<i) == 0 || b.Window != 0 || forgives(b) || b.Renew.WithGroup && filled == 0 {
				continue
			}
			parts := map[string]bool{}
			for _, m := range members {
				parts[chargedPart(b, m)] = true
			}
			delete(parts, "")
			units := b.Max * int32(len(parts))
			if b.Renew.WithGroup {
				units *= filled
			}
			sum, chosen[b.Name] = sum+units, true
		}
		misses := func(s group.Step) bool {
			return of(s) && !slices.ContainsFunc(s.Charges, func(name string) bool { return chosen[name] })
		}
		missed := slices.ContainsFunc(p.Rules, func(r group.Rule) bool { return slices.ContainsFunc(r.Steps, misses) })
		if !missed && (!possible || sum < least) {
			least, possible = sum, true
		}
	}
	return least, possible
}

// reaches returns the most restarts of a group after any failures.
func reaches(t *testing.T, p *group.Policy, members []group.Member) (most int32) {
	t.Helper()
	d := Must(group.NewDecider(p))
	seen, todo := map[string]bool{}, []group.State{{}}
	for len(todo) > 0 && len(seen) < 10_000 {
		state := todo[len(todo)-1]
		todo, most = todo[:len(todo)-1], max(most, state.Restarts())
		for i := range 2 * len(members) {
			f := group.Failure{Member: members[i/2], Attempt: state.Attempt(members[i/2]), Class: []string{"0", "1"}[i%2]}
			got := Must(d.Decide(state, []group.Failure{f}, noon))
			next := got.State.Resume()
			if text := ToJSON(next); !seen[text] {
				seen[text], todo = true, append(todo, next)
			}
		}
	}
	return most
}

// A group restarts as often as its budgets allow, and no more.
func TestDecide_restartsReachTheBound(t *testing.T) {
	for rules, want := range map[string]int32{ // -1 for no bound
		"CompleteGroup":                           0,
		"RestartGroup none":                       0,
		"RestartGroup two":                        2,
		"SuspendGroup two":                        2,
		"RestartTemplate template":                2 * 2,
		"RestartMember member":                    2 * 2,
		"RestartGroup member":                     2 * 2,
		"RestartMember member, RestartGroup one":  2*2 + 1,
		"RestartMember member+, RestartGroup one": 2*2*(1+1) + 1,
		"RestartMember member+, RestartTemplate template+, SuspendGroup one": (2*2+2*1)*(1+1) + 1,
		"RestartMember member+, RestartGroup none":                           2 * 2, // renews nothing
		"RestartMember member+ two, RestartGroup two":                        2,
		"RestartMember one nine; RestartGroup two nine":                      1 + 2,
		"RestartGroup template+ two":                                         2,
		"RestartMember":                                                      -1,
		"RestartGroup hourly":                                                -1,
		"RestartGroup hourly member+":                                        -1, // it empties the second
	} {
		charged := slices.DeleteFunc(budgetsOf(t), func(b group.Budget) bool { return !strings.Contains(rules, b.Name) })
		p, both := &group.Policy{Budgets: charged, Rules: rulesOf(rules)}, members[1:3]
		most, bounded := mostRestarts(p, both)
		if !bounded {
			most = -1
		} else if got := reaches(t, p, both); got != most {
			t.Errorf("%s: %d restarts are possible, the bound is %d", rules, got, most)
		}
		Same(t, rules+": the bound", most, want)
	}
}

// "The number of restarts has a bound if all steps that restart charge a budget without a window, and those that
// restart or suspend the group one that has no renew either". Without windows, the latter is what Check requires.
// In no window are more restarts than Max: the Jobs are created at the time of the charge, as there is no backoff.
func TestDecide_restartsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, windows, renew := drawPolicy(t), rapid.Bool().Draw(t, "windows"), rapid.IntRange(0, 3).Draw(t, "renew") == 0
		p.Budgets = append(p.Budgets, group.Budget{Name: "last", Max: rapid.Int32Range(0, 3).Draw(t, "max"),
			Per: rapid.SampledFrom([]group.Scope{group.PerGroup, group.PerTemplate, group.PerMember}).Draw(t, "per")})
		for i := range p.Budgets {
			b := &p.Budgets[i]
			b.Renew.WithGroup = b.Renew.WithGroup || renew && (b.Per == group.PerTemplate || b.Per == group.PerMember)
			if !windows {
				b.Window, b.Wait, b.Renew.Quiet, b.Renew.Progress = 0, false, 0, 0
			}
		}
		for _, r := range p.Rules {
			for i := range r.Steps {
				if s := &r.Steps[i]; restarts(*s) && len(s.Charges) == 0 {
					s.Charges = []string{"last"}
				}
				r.Steps[i].Backoff = nil
			}
		}
		if renew && p.Check(nil, nil) != nil {
			return // a step would empty all budgets that it charges
		}
		most, bounded := mostRestarts(p, members)
		if !bounded && !windows {
			t.Fatalf("Check accepts restarts without end: %s", ToJSON(p))
		}
		d := Must(group.NewDecider(p))
		restarted, state := map[string][]time.Time{}, group.State{}
		for call := range 40 {
			got := Must(d.Decide(state, drawFailures(t, &state, call), at(call)))
			next := stored(got.State).Resume()
			if next.Phase != "" {
				continue // without this failure, the group goes on
			}
			state = next
			if n := state.Restarts(); bounded && n > most {
				t.Fatalf("%d restarts, the bound is %d: %s", n, most, ToJSON(state))
			}
			if got.Step >= 0 && restarts(p.Rules[got.Rule].Steps[got.Step]) {
				withinWindows(t, p, got, at(call), restarted)
			}
		}
	})
}

// withinWindows adds a restart to those of each windowed budget that it charges, and checks that none has too many.
func withinWindows(t *rapid.T, p *group.Policy, d group.Decision, now time.Time, restarted map[string][]time.Time) {
	when := d.NotBefore
	if when.IsZero() {
		when = roundUp(d.Failure.At)
		if d.Failure.At.IsZero() || when.After(now) {
			when = now
		}
	}
	for _, b := range p.Budgets {
		if b.Window == 0 || b.Renew != (group.Renewal{}) || !slices.Contains(p.Rules[d.Rule].Steps[d.Step].Charges, b.Name) {
			continue
		}
		of := b.Name + " of " + chargedPart(b, d.Failure.Member)
		restarted[of] = append(restarted[of], when)
		for _, end := range restarted[of] {
			n := 0
			for _, t := range restarted[of] {
				if !t.After(end) && t.After(end.Add(-b.Window)) {
					n++
				}
			}
			if n > int(b.Max) {
				t.Fatalf("%s: %d restarts in the window before %v", of, n, end)
			}
		}
	}
}
