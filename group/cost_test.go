package group_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jobfate/jobfate/group"
)

// large returns a group of n members in which one of ten has failed, a policy of ten rules of which
// the last one matches, and its state, in which every member has been restarted.
func large(t testing.TB, n int) (*group.Decider, group.State, []group.Failure) {
	policy := &group.Policy{Budgets: []group.Budget{{Name: "alone", Per: group.PerMember, Max: 100}, {Name: "together", Max: 100}}}
	for i := range 9 {
		policy.Rules = append(policy.Rules, group.Rule{OnReasons: []string{fmt.Sprint("PodFailurePolicy_Rule", i)},
			OnMessagePatterns: []string{"exit code 4[0-9] "}, Steps: []group.Step{{Action: group.FailGroup}}})
	}
	policy.Rules = append(policy.Rules, group.Rule{OnMessagePatterns: []string{"backoff limit$"}, Steps: []group.Step{
		{Action: group.RestartMember, Charges: []string{"alone"}}, {Action: group.RestartGroup, Charges: []string{"together"}}}})
	decider, err := group.NewDecider(policy)
	if err != nil {
		t.Fatal(err)
	}
	state := group.State{Version: group.StateVersion, Members: map[string]group.Part{}}
	var failures []group.Failure
	for i := range n {
		m := member(fmt.Sprintf("workers-%d", i), "workers")
		state.Members[m.Name] = group.Part{Restarts: 1, Used: map[string]group.Use{"alone": {Count: 1}}}
		if i%10 == 0 {
			failures = append(failures, group.Failure{Member: m, Attempt: 1, At: at(n - i), Reason: "BackoffLimitExceeded",
				Message: "Job has reached the specified backoff limit"})
		}
	}
	return decider, state, failures
}

func decideLarge(t testing.TB, d *group.Decider, state group.State, failures []group.Failure) {
	if got, err := d.Decide(state, failures, at(100_000)); err != nil || got.Action != group.RestartMember || got.Open != len(failures)-1 {
		t.Fatalf("%v, %d open, %v", got.Action, got.Open, err)
	}
}

// .ci/slope runs this with 1,000 members and with 10,000.
func BenchmarkSlope_members(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for d, state, failures := large(b, n); b.Loop(); {
				decideLarge(b, d, state, failures)
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	d, state, failures := large(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		decideLarge(b, d, state, failures)
	}
}

// When nothing has failed, or all that has failed is decided, a decision allocates nothing.
func TestDecide_allocations(t *testing.T) {
	d, state, failures := large(t, 1000)
	old := slices.Clone(failures)
	for i := range old {
		old[i].Attempt = 0
	}
	policy := policyOf(t, escalating)
	for name, f := range map[string]func() (group.Decision, error){
		"nothing has failed":           func() (group.Decision, error) { return group.Decide(policy, state, nil, noon) },
		"nothing has failed, prepared": func() (group.Decision, error) { return d.Decide(state, nil, noon) },
		"failures of earlier attempts": func() (group.Decision, error) { return d.Decide(state, old, noon) },
		"failures of a group that has ended": func() (group.Decision, error) {
			ended := state
			ended.Phase = group.Failed
			return d.Decide(ended, failures, noon)
		},
	} {
		if n := testing.AllocsPerRun(10, func() {
			if got, err := f(); err != nil || got.Changed {
				t.Fatalf("%s: changed %v, %v", name, got.Changed, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
