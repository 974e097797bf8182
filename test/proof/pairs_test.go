package proof

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/jobtest/explore"
)

// observed returns states of the model that occur in a search.
func observed(t *testing.T, p *program) (states []*pod) {
	t.Helper()
	f := &searched{Follower: NewFollower(p)}
	for _, s := range explore.Searches() {
		if s.Name == "two leaders/indexed" || s.Name == "one fault, small/regular" {
			f.worlds = nil
			if _, err := s.Run(3_000, f.observe); err != nil {
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
	p := compiledModel(t)
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
	p := compiledModel(t)
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
	out, err := ask(context.Background(), s.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out); !slices.Equal(got, want) {
		t.Errorf("z3 and the evaluation in Go differ: of %d answers, the first that differs is %d", len(got), firstDifference(got, want))
	}
	t.Logf("%d pairs of states, %d of them steps", len(want), held)
	if held < len(want)/4 {
		t.Errorf("only %d of %d pairs are steps", held, len(want))
	}
}

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
