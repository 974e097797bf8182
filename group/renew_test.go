package group_test

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/group"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// What renews a used budget of one unit, and what is kept. It is noon.
func TestDecide_renewed(t *testing.T) {
	p := policyOf(t, `{budgets: [{name: x, max: 1, renew: {quiet: 1m, progress: 10}}], rules: [{steps: [{action: RestartGroup, charges: [x], backoff: {base: 5s}}]}]}`)
	const quiet, progress = "budget x renewed after 1m0s of quiet", "budget x renewed by a progress of 10"
	for name, tc := range map[string]struct {
		failed   time.Time
		progress int64
		used     string
		want     string // the message, and then what is kept; FailGroup without a renewal
	}{
		"quiet":                      {at(0), 0, `"quietSince":"2026-05-01T11:59:00Z"`, quiet + ` "quietSince":"2026-05-01T12:00:05Z"`},
		"quiet enough but for 1s":    {at(0), 0, `"quietSince":"2026-05-01T11:59:01Z"`, "FailGroup"},
		"a failure without a time":   {time.Time{}, 0, `"quietSince":"0000-05-01T11:00:00Z"`, "FailGroup"},
		"a failure in the future":    {at(1), 0, `"quietSince":"2026-05-01T11:00:00Z"`, "FailGroup"},
		"within the second of now":   {at(0).Add(1), 0, `"quietSince":"2026-05-01T11:00:00Z"`, "FailGroup"},
		"the clock was set back":     {at(-99), 0, `"quietSince":"2026-05-01T12:00:00Z"`, "FailGroup"},
		"a charge in the future":     {at(0), 0, `"quietSince":"2026-05-01T13:00:00Z"`, "FailGroup"},
		"before there were renewals": {at(0), 99, ``, "FailGroup"},
		"progress":                   {at(0), 17, `"progress":7`, progress + ` "quietSince":"2026-05-01T12:00:05Z","progress":17`},
		"too little progress":        {at(0), 16, `"progress":7`, "FailGroup"},
		"progress falls":             {at(0), 6, `"progress":7`, "FailGroup"},
		"no progress is reported":    {at(0), 0, `"progress":7`, "FailGroup"},
		"no sensible progress":       {at(0), math.MinInt64, `"progress":7`, "FailGroup"},
		"no sensible progress kept":  {at(0), 99, `"progress":-7`, "FailGroup"},
		"progress before a charge that the clock has put into the future": {at(0), 17, `"quietSince":"2026-05-01T13:00:00Z","progress":7`,
			progress + ` "quietSince":"2026-05-01T13:00:00Z","progress":17`},
		"both": {at(0), 17, `"quietSince":"2026-05-01T11:59:00Z","progress":7`, quiet + ` by a progress of 10 "quietSince":"2026-05-01T12:00:05Z","progress":17`},
	} {
		state := stateOf(strings.TrimSuffix(`{"group":{"used":{"x":{"count":1,`+tc.used, ",") + `}}}}`)
		o := &object{uid: "uid", phase: group.Failed, failed: tc.failed.Sub(noon), progress: tc.progress}
		if o.noTime = tc.failed.IsZero(); o.noTime {
			o.failed = 0
		}
		plan := Must(group.MakePlan(p, state, []group.Object{o}, noon))
		got := string(plan.Action)
		if got == "RestartGroup" {
			_, kept, _ := strings.Cut(ToJSON(plan.State.Group.Used["x"]), `{"count":1,`)
			_, got, _ = strings.Cut(plan.Message(), "; ")
			got += " " + strings.TrimSuffix(kept, "}")
		}
		Same(t, name, got, tc.want)
	}
	// The progress of several restarts adds up.
	d := decideAll(t, `{budgets: [{name: x, max: 3, renew: {progress: 10}}], rules: [{steps: [{action: RestartGroup, charges: [x]}]}]}`,
		group.Failure{At: noon, Progress: 1}, group.Failure{At: noon, Progress: 8}, group.Failure{At: noon, Progress: 12})
	Same(t, "progress in two restarts", ToJSON(d.Renewed), `[{"Budget":"x","Quiet":0,"Progress":11}]`)
	// A restart of the group renews too. The next charge then renews nothing, and no progress is
	// counted twice.
	d = decideAll(t, `{budgets: [{name: x, per: Member, max: 3, renew: {withGroup: true, quiet: 1m, progress: 1}}],
		rules: [{onClasses: [A], steps: [{action: RestartMember, charges: [x]}]}, {steps: [{action: RestartGroup}]}]}`,
		group.Failure{Member: members[0], At: noon, Class: "A", Progress: 5}, group.Failure{At: at(1)},
		group.Failure{Member: members[0], At: at(99), Class: "A", Progress: 3})
	if got := ToJSON(d.State.Members["a-0"].Used["x"]); d.Renewed != nil || got != `{"count":1,"quietSince":"2026-05-01T12:01:39Z","progress":5}` {
		t.Errorf("after a restart of the group: %v, %s", d.Renewed, got)
	}
}

// account is what the decisions say about the budget of one part.
type account struct {
	budget   group.Budget
	charges  int32 // since the last renewal
	last     time.Time
	progress int64
	lost     bool // whether the state has lost when the quiet time began, and the progress
}

// charge checks a charge: "between two renewals of a budget passes the quiet time since its last charge, or the progress
// grows by the step, and at most Max steps charge it", and what is lost renews nothing.
func (a *account) charge(t *rapid.T, got group.Decision, now time.Time) {
	b, f, when, by := a.budget, got.Failure, roundUp(got.Failure.At), group.Renewed{}
	known := !f.At.IsZero() && !f.At.After(now)
	if !known {
		when = roundUp(now)
	}
	for _, r := range got.Renewed {
		if r.Budget == b.Name {
			by = r
		}
	}
	if quiet := f.At.Sub(a.last); by.Quiet > 0 && (!known || b.Renew.Quiet == 0 || quiet < b.Renew.Quiet) {
		t.Fatalf("%s is renewed after %v of quiet", ToJSON(b), quiet)
	}
	if grown := f.Progress - a.progress; by.Progress > 0 && (b.Renew.Progress == 0 || grown < b.Renew.Progress) {
		t.Fatalf("%s is renewed by a progress of %d", ToJSON(b), grown)
	}
	if by.Budget != "" {
		if a.lost || a.charges == 0 || by.Quiet == 0 && by.Progress == 0 {
			t.Fatalf("%s: %s after %d charges, its state was lost: %v", ToJSON(b), by, a.charges, a.lost)
		}
		a.charges = 0
	}
	if a.charges == 0 {
		a.progress = max(a.progress, f.Progress)
	}
	if a.charges++; b.Window == 0 && a.charges > b.Max {
		t.Fatalf("%s is charged %d times without a renewal", ToJSON(b), a.charges)
	}
	for _, moment := range []time.Time{when, got.NotBefore} {
		if moment.After(a.last) {
			a.last = moment
		}
	}
	a.lost = false
}

// accounts has the accounts of all budgets, by budget and part.
type accounts map[string]*account

func (all accounts) decided(t *rapid.T, p *group.Policy, got group.Decision, now time.Time) {
	for _, b := range p.Budgets {
		if key := b.Name + " " + chargedPart(b, got.Failure.Member); slices.Contains(got.Charged, b.Name) {
			if all[key] == nil {
				all[key] = &account{budget: b}
			}
			all[key].charge(t, got, now)
		}
	}
	for _, a := range all {
		if a.budget.Renew.WithGroup && (got.Action == group.RestartGroup || got.Action == group.SuspendGroup) {
			a.charges = 0
		}
	}
}

var baselines = regexp.MustCompile(`,?"(quietSince|progress)":("[^"]*"|\d+)`)

// forgotten returns a state, as one without renewals would have written it.
func (all accounts) forgotten(s group.State) group.State {
	for _, a := range all {
		a.lost, a.progress, a.last = true, 0, time.Time{}
	}
	return FromJSON[group.State](baselines.ReplaceAll([]byte(ToJSON(s)), nil))
}
