// Package driver runs schedules of random steps. It draws actions from the table of a kit, and the
// faults of requests, and records what happens. It shortens a schedule that violates a property, so
// that the report shows only what the violation needs. The kits that run schedules share it.
package driver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/internal/story"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Plan selects the steps, actions and faults of a schedule that happen.
type Plan struct {
	Steps []int    // the numbers of the steps that happen, in order
	Off   []string // actions and faults that do not happen
}

// Until returns the plan with all steps up to a step, without some actions and faults.
func Until(step int, off ...string) Plan {
	p := Plan{Off: off}
	for i := range step {
		p.Steps = append(p.Steps, i+1)
	}
	return p
}

// upto returns the plan without the steps after a step.
func (p Plan) upto(step int) Plan {
	i, _ := slices.BinarySearch(p.Steps, step+1)
	p.Steps = p.Steps[:i]
	return p
}

// Schedule is a run of a plan. It makes the random choices, and records what happens.
type Schedule struct {
	jobtest.Seeded
	Log story.Log
	// Step is the number of the step in progress, Syncs the number of syncs of the controllers so
	// far, and Writes that of their writes.
	Step, Syncs, Writes int
	// Faultless says that the faults have stopped, NoCreations that every creation is rejected.
	Faultless, NoCreations bool

	seed       uint64
	source     *rand.PCG
	plan       Plan
	happened   []string                          // actions and faults
	broken     atomic.Pointer[referee.Violation] // a controller may start goroutines
	unrepeated bool                              // further runs have no violation
}

// NewSchedule returns the schedule of a plan. Its choices depend on the plan and the seed.
func NewSchedule(seed uint64, p Plan) *Schedule {
	source := rand.NewPCG(seed, 0)
	return &Schedule{Seeded: jobtest.Seeded{Rand: rand.New(source)}, seed: seed, source: source, plan: p}
}

// Part makes the next choices depend on the seed and the part of the run alone.
func (s *Schedule) Part(part uint64) { s.source.Seed(s.seed, part) }

// Run runs the steps of the plan, until one returns false or a property is violated. The choices of
// a step do not depend on earlier steps, so that steps can be left out.
func (s *Schedule) Run(step func() bool) {
	for _, s.Step = range s.plan.Steps {
		if s.Part(uint64(s.Step) << 8); !step() || s.Broken() {
			return
		}
	}
}

// Meanwhile reports whether something else happens now. While there are faults, it does in that
// percentage of cases.
func (s *Schedule) Meanwhile(percent int) bool {
	return !s.Faultless && !s.Broken() && s.Chance(percent, "aside")
}

// Violate records a violation, unless there is one already, and reports whether it did.
func (s *Schedule) Violate(property, format string, args ...any) bool {
	return s.Found(&referee.Violation{Property: property, Text: fmt.Sprintf(format, args...)})
}

// Found is like Violate. Nil is no violation.
func (s *Schedule) Found(v *referee.Violation) bool {
	first := v != nil && s.broken.CompareAndSwap(nil, v)
	if first {
		s.Log.Say("=> this violates %s", v.Property)
	}
	return first
}

// Violation returns the first violation, if any.
func (s *Schedule) Violation() *referee.Violation { return s.broken.Load() }

// Broken reports whether there is a violation.
func (s *Schedule) Broken() bool { return s.Violation() != nil }

// Report returns the report of the violation. Again is the command that runs the schedule again.
func (s *Schedule) Report(again string) story.Report {
	return story.Report{Violation: s.Violation(), Seed: s.seed, Again: again, Chance: s.unrepeated, Log: &s.Log}
}

// Allows reports whether an action or a fault may happen.
func (s *Schedule) Allows(name string) bool { return !slices.Contains(s.plan.Off, name) }

// Happened records an action or a fault, for Search to leave out.
func (s *Schedule) Happened(name string) {
	if !slices.Contains(s.happened, name) {
		s.happened = append(s.happened, name)
	}
}

func (s *Schedule) schedule() *Schedule { return s }

// Run is a run of a schedule, which it embeds.
type Run interface {
	Violation() *referee.Violation
	schedule() *Schedule
}

// Search shortens the plan of a run that violates a property. It leaves out actions and
// faults, then steps, as long as the run still violates the same property with the same
// text. It uses at most the given number of runs. It returns a run of the shortest plan,
// which is the only run with a log.
//
// If no further run violates the property, the controller is not deterministic. Search then returns
// the original run, whose report says so.
func Search[R Run](found R, runs int, run func(p Plan, recorded bool) R) (shortest R) {
	s := found.schedule()
	same := func(r R) bool { return r.Violation() != nil && r.Violation().Same(found.Violation()) }
	p := s.plan.upto(s.Step).shorten(s.happened, func(less Plan) bool {
		runs--
		return runs >= 0 && same(run(less, false))
	})
	for range 3 {
		if r := run(p, true); same(r) {
			return r
		}
	}
	s.unrepeated = true
	return found
}

// shorten leaves out everything that is not needed.
func (p Plan) shorten(happened []string, enough func(Plan) bool) Plan {
	for _, name := range happened {
		if less := (Plan{p.Steps, append(slices.Clip(p.Off), name)}); enough(less) {
			p = less
		}
	}
	last := 1
	if n := len(p.Steps); n > 0 {
		last = p.Steps[n-1]
	}
	for size := max(1, last/2); size > 0; {
		before := len(p.Steps)
		for at := 1; at <= last; at += size {
			less := Plan{slices.DeleteFunc(slices.Clone(p.Steps),
				func(n int) bool { return n >= at && n < at+size }), p.Off}
			if len(less.Steps) < len(p.Steps) && enough(less) {
				p = less
			}
		}
		if size > 1 || len(p.Steps) == before { // otherwise earlier steps may have become unnecessary
			size /= 2
		}
	}
	return p
}

// Action is something that may happen in a run R of a kit.
type Action[R any] struct {
	Name string
	// Step is how often the action is drawn as a step, Aside how often during a sync.
	Step, Aside int
	// Do reports whether the action had an effect.
	Do func(R) bool
}

// AsStep returns the weight of an action as a step.
func AsStep[R any](a *Action[R]) int { return a.Step }

// Aside returns the weight of an action during a sync.
func Aside[R any](a *Action[R]) int { return a.Aside }

// Act draws an action and, unless the plan leaves it out, lets act execute it and report whether
// it had an effect.
func Act[R any](s *Schedule, from []Action[R], weight func(*Action[R]) int, act func(number int) bool) {
	i := draw(s, from, weight)
	if name := from[i].Name; s.Allows(name) && act(i) {
		s.Happened(name)
	}
}

// Pick draws one of the values.
func Pick[T any](d jobtest.Dice, of ...T) T { return of[d.Among(len(of), "value")] }

// draw draws an element by its weight.
func draw[T any](s *Schedule, from []T, weight func(*T) int) int {
	total := 0
	for i := range from {
		total += weight(&from[i])
	}
	left := s.IntN(total)
	for i := range from {
		if left -= weight(&from[i]); left < 0 {
			return i
		}
	}
	return 0
}
