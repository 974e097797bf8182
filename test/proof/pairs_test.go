package proof

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/failurepolicy"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/explore"
	"github.com/jobfate/jobfate/tracking"
)

// observed returns states of the model that occur in a search.
func observed(t *testing.T, p *program) (states []*pod) {
	t.Helper()
	f := &searched{Follower: NewFollower(p), limit: 3_000}
	for _, s := range explore.Searches() {
		if s.Name == "two leaders/indexed" || s.Name == "one fault, small/regular" {
			f.worlds = nil
			if _, err := s.Run(f.limit, f.observe); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range f.known {
		if s.out == "" {
			states = append(states, s)
		}
	}
	slices.SortFunc(states, func(a, b *pod) int { return strings.Compare(fmt.Sprint(*a), fmt.Sprint(*b)) })
	return states
}

// random returns a state with random values.
func (p *program) random(dice *rand.Rand) []int16 {
	var values []int16
	for _, v := range p.Variables() {
		n := 2
		if v.Type == "Int" {
			n = 3
		}
		values = append(values, int16(dice.IntN(n)))
	}
	return values
}

// frameOf returns a step with all assumptions.
func (p *program) frameOf(before, after []int16) *frame {
	s := &frame{consts: []int16{1, 500}, before: before, after: after, given: make([]int16, 3)}
	for range p.Assumptions {
		s.consts = append(s.consts, 1)
	}
	return s
}

// isStep reports whether a pair of states is a step of any action, with any given values.
func (p *program) isStep(s *frame) bool {
	for _, a := range p.actions {
		for n := range 27 {
			s.given[0], s.given[1], s.given[2] = int16(n%3), int16(n/3%3), int16(n/9%2)
			if a.holds(s) {
				return true
			}
			if len(a.Given) == 0 {
				break
			}
		}
	}
	return false
}

// A model that allows everything would prove nothing. A random pair of states is almost never a step, even
// of states that occur.
func TestPairs(t *testing.T) {
	const pairs = 50_000
	p := Must(Must(Load()).compile())
	dice := rand.New(rand.NewPCG(1, 2))
	known := observed(t, p)
	share := func(name string, most int, pair func() ([]int16, []int16)) {
		n := 0
		for range pairs {
			before, after := pair()
			if !slices.Equal(before, after) && p.isStep(p.frameOf(before, after)) {
				n++
			}
		}
		fmt.Printf("of %d pairs of %s, %d are steps\n", pairs, name, n)
		if n > most {
			t.Errorf("of %d pairs of %s, %d are steps, want at most %d", pairs, name, n, most)
		}
	}
	share("random states", 0, func() ([]int16, []int16) { return p.random(dice), p.random(dice) })
	share(fmt.Sprintf("the %d states of two searches", len(known)), pairs/50, func() ([]int16, []int16) {
		return known[dice.IntN(len(known))].values(0), known[dice.IntN(len(known))].values(0)
	})
}

// The evaluation in Go and z3 agree on what a step is: of pairs of states that occur, half of them with one
// value changed.
func TestEvaluation(t *testing.T) {
	p := Must(Must(Load()).compile())
	dice := rand.New(rand.NewPCG(3, 4))
	known := observed(t, p)
	var s script
	p.declareStep(&s)
	var want []string
	names := slices.Sorted(maps.Keys(p.actions))
	held := 0
	for _, name := range names {
		a := p.actions[name]
		s.line("(push)")
		s.declare(a.Given, "")
		var may []int // the variables that the action may change
		for i, v := range p.Variables() {
			if !strings.Contains(a.formula.String(), "(= "+v.Name+"+ "+v.Name+")") {
				may = append(may, i)
			}
		}
		for try, asked := 0, 0; asked < 20 && try < 30_000; try++ {
			before := known[dice.IntN(len(known))].values(0)
			after := slices.Clone(before)
			for _, i := range may {
				if dice.IntN(2) == 0 {
					after[i] = int16(dice.IntN(2))
				}
			}
			frame := p.frameOf(before, after)
			frame.consts[0] = int16(dice.IntN(2))
			for i := range frame.given {
				frame.given[i] = int16(dice.IntN(2))
			}
			holds := a.holds(frame)
			if !holds && asked >= 10 {
				continue // half of them are steps, if that many are found
			}
			asked++
			answer := "unsat"
			if holds {
				answer = "sat"
				held++
			}
			want = append(want, answer)
			s.line("(push)")
			fix := func(all []Var, suffix string, values []int16) {
				for i, v := range all {
					value := fmt.Sprint(values[i])
					if v.Type == "Bool" {
						value = fmt.Sprint(values[i] != 0)
					}
					s.line("(assert (= %s%s %s))", v.Name, suffix, value)
				}
			}
			fix(p.Consts, "", frame.consts)
			fix(p.Variables(), "", before)
			fix(p.Variables(), "+", after)
			fix(a.Given, "", frame.given)
			s.assert(a.formula)
			s.line("(check-sat)\n(pop)")
		}
		s.line("(pop)")
	}
	out := Must(ask(context.Background(), s.String()))
	if diff := cmp.Diff(want, strings.Fields(out)); diff != "" {
		t.Errorf("z3 and the evaluation in Go differ (-Go +z3):\n%s", diff)
	}
	t.Logf("%d pairs of states, %d of them steps", len(want), held)
	if held < len(want)/4 {
		t.Errorf("only %d of %d pairs are steps", held, len(want))
	}
}

// setting is an option of a controller.
type setting struct {
	name string
	// refused says that a Follower that is not told of the option refuses what the controller does.
	refused bool
	// option returns the option, and tells the Follower.
	option func(dice *rand.Rand, o *Options) decide.Option
}

var settings = []setting{
	{"FailLostPods", true, func(dice *rand.Rand, o *Options) decide.Option {
		o.LostAfter = time.Duration(1+dice.IntN(20)) * time.Second
		return decide.FailLostPods(o.LostAfter)
	}},
	{"SucceedOnExitZero", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.ExitZero = true
		return decide.SucceedOnExitZero()
	}},
	{"Keys", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.Keys = tracking.Keys{Finalizer: "example.com/counted", Index: "example.com/part",
			FailureCount: "example.com/part-failures"}
		return decide.Keys(o.Keys)
	}},
	{"FailurePolicy", true, func(dice *rand.Rand, o *Options) decide.Option {
		actions := []batchv1.PodFailurePolicyAction{batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailJob}
		codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42, 137}}
		o.Policy = &failurepolicy.Spec{
			Rules: []failurepolicy.Rule{{Action: actions[dice.IntN(len(actions))], OnExitCodes: codes}}}
		return decide.FailurePolicy(o.Policy)
	}},
	{"WithoutFailurePolicy", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.Policy, o.WithoutPolicy = nil, true
		return decide.WithoutFailurePolicy()
	}},
	{"WithoutPerIndexBackoff", false, func(_ *rand.Rand, o *Options) decide.Option {
		o.WithoutPerIndex = true
		return decide.WithoutPerIndexBackoff()
	}},
	{"WithoutReplacementPolicy", true, func(_ *rand.Rand, o *Options) decide.Option {
		o.WithoutReplacement = true
		return decide.WithoutReplacementPolicy()
	}},
	{"MaxUncounted", false, func(dice *rand.Rand, o *Options) decide.Option {
		o.Cap = 1 + int16(dice.IntN(2))
		return decide.MaxUncounted(int(o.Cap))
	}},
	{"MaxRemovals", false, func(dice *rand.Rand, _ *Options) decide.Option {
		return decide.MaxRemovals(1 + dice.IntN(2))
	}},
	{"MaxChanges", false, func(dice *rand.Rand, _ *Options) decide.Option {
		return decide.MaxChanges(1 + dice.IntN(2))
	}},
	{"FillFreeSlots", false, func(*rand.Rand, *Options) decide.Option { return decide.FillFreeSlots() }},
	{"GranularReasons", false, func(*rand.Rand, *Options) decide.Option { return decide.GranularReasons() }},
	{"Throttle", false, func(*rand.Rand, *Options) decide.Option {
		return decide.Throttle(10*time.Second, 0.5)
	}},
	{"BatchPeriod", false, func(*rand.Rand, *Options) decide.Option { return decide.BatchPeriod(10 * time.Second) }},
	{"Backoff", false, func(_ *rand.Rand, o *Options) decide.Option {
		o.Backoff = backoff.Policy{Base: time.Second, Cap: time.Minute}
		return decide.Backoff(o.Backoff)
	}},
}

// optional returns the configuration of a schedule with options, and tells the Follower of them.
func optional(seed uint64, o *Options, options ...decide.Option) chaos.Config {
	c := chaos.Config{Seed: seed, Rules: o.Rules, Controller: func() cluster.Controller {
		caller := jobtest.NewCaller(options...)
		caller.Feeding, caller.StatusElsewhere = seed%2 == 1, seed%5 == 0
		n := 0
		if seed%7 == 0 {
			caller.Machine.Names = func(prefix string) string {
				n++
				return fmt.Sprintf("%s%05d", prefix, n)
			}
		}
		return caller
	}}
	if o.LostAfter > 0 { // some pods never end
		c.Without = []string{"deleted pod exits 0", "deleted pod exits 137", "deleted pod exits with its own code",
			"deleted pod fails"}
	}
	return c
}

// followOptions follows schedules in which the controller has about three random options. The referee does not know
// all of them: it ends 1 in 20 schedules early.
func followOptions(t *testing.T, p *program) {
	drawn := map[string]int{}
	for seed := range uint64(schedules() / 4) {
		dice := rand.New(rand.NewPCG(seed, 7))
		var o Options
		var options []decide.Option
		for _, s := range settings {
			if dice.IntN(len(settings)) < 3 {
				drawn[s.name]++
				options = append(options, s.option(dice, &o))
			}
		}
		finish(t, fmt.Sprintf("seed %d", seed), follow(p, o, optional(seed, &o, options...)))
	}
	for _, s := range settings {
		if drawn[s.name] < schedules()/60 {
			t.Errorf("%s was drawn %d times", s.name, drawn[s.name])
		}
	}
}

// Options change what is followed: some Follower that is not told of them refuses what the controller does.
func TestOptionsMatter(t *testing.T) {
	p := Must(Must(Load()).compile())
	for _, s := range settings {
		if !s.refused {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(1_000) {
				var o Options
				option := s.option(rand.New(rand.NewPCG(seed, 7)), &o)
				if f := follow(p, Options{}, optional(seed, &o, option)); f.Refused != nil {
					t.Logf("seed %d: %.300s", seed, f.Refused)
					return
				}
			}
			t.Error("no schedule is refused")
		})
	}
}
