package group_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/internal/fuzztest"
	. "github.com/jobfate/jobfate/internal/podtest"
)

var (
	members = []group.Member{member("a-0", "a"), member("a-1", "a"), member("b-0", "b"), member("alone", ""), member("", "b"), {}}
	actions = []group.Action{group.Leave, group.RestartMember, group.RestartMember, group.RestartTemplate, group.RestartGroup,
		group.SuspendGroup, group.CompleteGroup, group.FailGroup}
	reasons = []string{"BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "PodFailurePolicy_Gpu", "PodFailurePolicy_1"}
)

// some draws a short list, usually an empty one.
func some[T any](t *rapid.T, label string, values ...T) []T {
	if rapid.IntRange(0, 3).Draw(t, "has "+label) > 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom(values), 1, 2).Draw(t, label)
}

// drawPolicy draws a policy that Check accepts.
func drawPolicy(t *rapid.T) *group.Policy {
	p := &group.Policy{}
	for i := range rapid.IntRange(0, 3).Draw(t, "budgets") {
		b := group.Budget{Name: fmt.Sprint("budget", i), Max: rapid.Int32Range(0, 3).Draw(t, "max"),
			Per: rapid.SampledFrom([]group.Scope{"", group.PerGroup, group.PerTemplate, group.PerMember}).Draw(t, "per")}
		if rapid.Bool().Draw(t, "windowed") {
			b.Max, b.Window = max(b.Max, 1), rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, time.Hour, 2500 * time.Millisecond}).Draw(t, "window")
			b.Wait = rapid.Bool().Draw(t, "wait")
		}
		b.Renew.WithGroup = (b.Per == group.PerTemplate || b.Per == group.PerMember) && rapid.Bool().Draw(t, "renew")
		b.Renew.Quiet = rapid.SampledFrom([]time.Duration{0, time.Second, 1500 * time.Millisecond, 6 * time.Second}).Draw(t, "quiet")
		b.Renew.Progress = rapid.SampledFrom([]int64{0, 1, 10}).Draw(t, "progress")
		p.Budgets = append(p.Budgets, b)
	}
	for range rapid.IntRange(0, 4).Draw(t, "rules") {
		r := group.Rule{OnReasons: some(t, "reasons", reasons...), OnRuleNames: some(t, "rule names", "Gpu", "1"),
			OnClasses: some(t, "classes", "Infra", "User"), OnMessagePatterns: some(t, "patterns", "^disk", "full$", "k f", ""),
			Templates: some(t, "templates", "a", "b", ""), Members: some(t, "members", "a-0", "b-0", "alone", "")}
		if rapid.IntRange(0, 4).Draw(t, "on exit codes") == 0 {
			r.OnExitCodes = &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: rapid.SampledFrom([]batchv1.PodFailurePolicyOnExitCodesOperator{"In", "NotIn"}).Draw(t, "operator"),
				Values:   []int32{rapid.Int32Range(1, 3).Draw(t, "code")}}
			if rapid.Bool().Draw(t, "by container") {
				main := "main"
				r.OnExitCodes.ContainerName = &main
			}
		}
		for more := true; more && len(r.Steps) < 4; {
			s := group.Step{Action: rapid.SampledFrom(actions).Draw(t, "action")}
			more = false
			for _, b := range p.Budgets {
				if rapid.Bool().Draw(t, "charges") {
					s.Charges = append(s.Charges, b.Name)
					more = more || !b.Wait
				}
			}
			restarts := !slices.Contains([]group.Action{group.Leave, group.CompleteGroup, group.FailGroup}, s.Action)
			if restarts && rapid.Bool().Draw(t, "delayed") {
				s.Backoff = &backoff.Policy{Base: rapid.SampledFrom([]time.Duration{0, 1500 * time.Millisecond, time.Minute}).Draw(t, "base")}
			}
			r.Steps = append(r.Steps, s)
			more = more && rapid.IntRange(0, 2).Draw(t, "more") > 0
		}
		p.Rules = append(p.Rules, r)
	}
	if n := len(p.Rules); n > 0 && rapid.IntRange(0, 3).Draw(t, "a rule for all") > 0 {
		p.Rules[n-1] = group.Rule{Steps: p.Rules[n-1].Steps}
	}
	// Nothing is behind a rule without requirements.
	if i := slices.IndexFunc(p.Rules, func(r group.Rule) bool { return ToJSON(group.Rule{Steps: r.Steps}) == ToJSON(r) }); i >= 0 {
		p.Rules = p.Rules[:i+1]
	}
	if p.Check(nil, nil) != nil { // a step empties all budgets that it charges
		for i := range p.Budgets {
			p.Budgets[i].Renew.WithGroup = false
		}
	}
	if err := p.Check(nil, nil).ToAggregate(); err != nil {
		t.Fatalf("Check refuses a valid policy: %v", err)
	}
	return p
}

// drawFailures draws failures of the current attempts and of earlier ones.
func drawFailures(t *rapid.T, s *group.State, now int) (all []group.Failure) {
	for range rapid.IntRange(0, 4).Draw(t, "failures") {
		f := group.Failure{Member: rapid.SampledFrom(members).Draw(t, "member"),
			At:        at(now - rapid.IntRange(-3, 20).Draw(t, "age")),
			Reason:    rapid.SampledFrom(reasons).Draw(t, "reason"),
			Message:   rapid.SampledFrom([]string{"", "disk full", "full disk"}).Draw(t, "message"),
			Class:     rapid.SampledFrom([]string{"", "Infra", "User"}).Draw(t, "class"),
			RuleName:  rapid.SampledFrom([]string{"", "Gpu", "1"}).Draw(t, "rule"),
			Container: rapid.SampledFrom([]string{"", "main"}).Draw(t, "container"),
			ExitCode:  rapid.Int32Range(0, 3).Draw(t, "exit code"),
			Progress:  rapid.SampledFrom([]int64{int64(now), int64(now), 9, 0, -1}).Draw(t, "progress")}
		odd := rapid.SampledFrom([]time.Time{{}, f.At.Add(300 * time.Millisecond), f.At, f.At, f.At, f.At, f.At, f.At})
		f.At = odd.Draw(t, "odd time")
		f.Attempt = s.Attempt(f.Member) - max(0, rapid.Int32Range(-5, 2).Draw(t, "behind"))
		all = append(all, f)
	}
	return all
}

// counts counts what the random histories have reached.
var counts = map[string]int{}

// lives runs a random group, and checks every decision against the history of all before it.
func lives(t *rapid.T) {
	policy := drawPolicy(t)
	h, state, books := &history{policy: policy, lost: map[int]bool{}}, group.State{}, accounts{}
	decider := Must(group.NewDecider(policy))
	now := 0
	for range rapid.IntRange(1, 12).Draw(t, "calls") {
		now += rapid.SampledFrom([]int{0, 1, 7, 60, 4000, -30}).Draw(t, "seconds") // the clock may be set back
		if state.Phase == group.Suspended && rapid.Bool().Draw(t, "resume") {
			state, h.resumed = state.Resume(), true
		}
		failures := drawFailures(t, &state, now)
		before, list := state.DeepCopy(), slices.Clone(failures)
		got := Must(decider.Decide(state, failures, at(now)))
		if diff := cmp.Diff(before, &state) + cmp.Diff(list, failures); diff != "" {
			t.Fatalf("Decide has changed its input:\n%s", diff)
		}
		other := append(slices.Clone(failures), failures...)
		other = rapid.Permutation(other).Draw(t, "another order, and each twice")
		again, err := group.Decide(policy, *before, other, at(now))
		if again.Open /= 2; again.Action != "" && cmp.Equal(other[again.Position], got.Failure) {
			again.Position = got.Position
		}
		if err != nil || ToJSON(again) != ToJSON(got) {
			t.Fatalf("another order: %s, %v\n%s", ToJSON(again), err, ToJSON(got))
		}
		history := *h
		checkDecision(t, h, failures, got, at(now))
		if ends := got.State.End != nil && state.End == nil; ends && rapid.IntRange(0, 3).Draw(t, "goes on") > 0 {
			*h = history // without this failure, the group goes on
			continue
		}
		if state = stored(got.State); got.Action != "" {
			books.decided(t, policy, got, at(now))
		}
		if rapid.IntRange(0, 9).Draw(t, "forgets") == 0 {
			state, h.lost[len(h.past)] = books.forgotten(state), true
		}
		if n, limit := len(ToJSON(state)), group.StateSize(policy, members); n > limit {
			t.Fatalf("the state has %d bytes, StateSize says %d: %s", n, limit, ToJSON(state))
		}
		if got.Action != "" {
			once, err := decider.Decide(state, []group.Failure{got.Failure}, at(now))
			if err != nil || once.Changed || once.Action != "" {
				t.Fatalf("the failure decides twice: %s, %v", ToJSON(once), err)
			}
		}
	}
	f := group.Failure{Member: members[0], Attempt: state.Attempt(members[0]) + 1}
	got, err := decider.Decide(state, []group.Failure{f}, at(now))
	if old := new(group.OldStateError); !errors.As(err, &old) || old.Attempt != f.Attempt || got.Changed || ToJSON(got.State) != ToJSON(state) {
		t.Fatalf("a failure of a later attempt: %s, %v", ToJSON(got), err)
	}
}

// checkDecision compares a decision with what follows from the history.
func checkDecision(t *rapid.T, h *history, failures []group.Failure, got group.Decision, now time.Time) {
	t.Helper()
	rules := slices.Clone(h.policy.Rules)
	for i := range rules {
		rules[i].Steps = nil // "It does not read steps"
	}
	open := h.open(failures)
	matched, err := group.FirstMatch(rules, open)
	rule, step, decided, ok := h.decide(failures, now)
	counts[string(decided.action)]++
	switch {
	case !ok:
		counts["nothing"]++
	case rule < 0:
		counts["no rule"]++
	case step < 0:
		counts["no room"]++
	case step > 0:
		counts["a later step"]++
	}
	if !decided.notBefore.IsZero() {
		counts["delayed"]++
	}
	for _, r := range decided.renewed {
		counts["renewed by quiet"] += int(min(r.Quiet, 1))
		counts["renewed by progress"] += int(min(r.Progress, 1))
	}
	want := group.Decision{State: got.State, Changed: ok, Action: decided.action, Match: group.Match{Rule: rule, Failure: decided.failure, Position: -1}, Step: step,
		Charged: decided.charges, Renewed: decided.renewed, NotBefore: decided.notBefore, Open: int32(len(h.open(failures)))}
	if ok {
		want.Position = slices.Index(failures, decided.failure)
		matched.Position = slices.Index(failures, open[matched.Position])
	}
	if matched != want.Match || err != nil {
		t.Fatalf("FirstMatch: %s, %v, want %s", ToJSON(matched), err, ToJSON(want.Match))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-oracle +got)\n%s\nhistory %+v", diff, h.past)
	}
	if diff := cmp.Diff(h.end(), got.State.End); diff != "" {
		t.Fatalf("the end (-oracle +got)\n%s", diff)
	}
	for _, m := range members {
		Same(t, fmt.Sprint("attempt of ", m), got.State.Attempt(m), h.attempt(m))
		if got, want := got.State.NotBefore(m), h.notBefore(m); !got.Equal(want) {
			t.Fatalf("%v not before %s, want %s", m, got, want)
		}
		Same(t, fmt.Sprint("left ", m), got.State.Left(m), h.left(m))
	}
}

// The package comment: "the first rule that matches any of them decides, and of the failures that it
// matches, the earliest", "A failure of an earlier attempt changes nothing".
func TestDecideAgainstOracle(t *testing.T) { rapid.Check(t, lives) }

// reached is what the random groups must reach. Each has a seed of FuzzDecide that reaches it.
var reached = []string{"Leave", "RestartMember", "RestartTemplate", "RestartGroup", "SuspendGroup", "CompleteGroup",
	"FailGroup", "nothing", "no rule", "no room", "a later step", "delayed",
	"renewed by quiet", "renewed by progress"}

var writeSeeds = flag.Bool("seeds", false, "write the seeds of FuzzDecide again")

func TestOracleReachesAll(t *testing.T) {
	clear(counts)
	random, run, seeds := rand.New(rand.NewPCG(1, 2)), fuzztest.Target(rapid.MakeFuzz(lives)), map[string][]byte{}
	for range 1500 {
		input := make([]byte, 500+random.IntN(400))
		for i := range input {
			input[i] = byte(random.IntN(256))
		}
		before := maps.Clone(counts)
		t.Run("", func(t *testing.T) { run(t, input) })
		for _, what := range reached {
			if counts[what] > before[what] && (seeds[what] == nil || len(input) < len(seeds[what])) {
				seeds[what] = input
			}
		}
	}
	total := maps.Clone(counts)
	for _, what := range reached {
		if total[what] < 20 {
			t.Errorf("%s was reached %d times, want 20: %v", what, total[what], total)
		}
		file := "testdata/fuzz/FuzzDecide/" + strings.ReplaceAll(what, " ", "-")
		if *writeSeeds {
			NoError(t, os.WriteFile(file, fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", seeds[what]), 0o644))
		}
		text := Must(os.ReadFile(file))
		_, quoted, _ := strings.Cut(strings.TrimSuffix(string(text), ")\n"), "[]byte(")
		seed := Must(strconv.Unquote(quoted))
		clear(counts)
		t.Run("", func(t *testing.T) { run(t, []byte(seed)) })
		if counts[what] == 0 {
			t.Errorf("the seed %s does not reach it: %v", file, counts)
		}
	}
}

func FuzzDecide(f *testing.F) { f.Fuzz(fuzztest.Target(rapid.MakeFuzz(lives))) }
