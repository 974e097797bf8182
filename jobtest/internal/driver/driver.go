// Package driver runs schedules of random steps. It draws actions from the table of a kit, and the
// faults of requests. It shortens a schedule that violates a property, so that the report shows
// only what the violation needs. The kits that run schedules share it.
package driver

import (
	"math/rand/v2"
	"slices"

	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// Plan selects the steps, actions and faults of a schedule that happen.
type Plan struct {
	Steps []int    // the numbers of the steps that happen, in order
	Off   []string // actions and faults that do not happen
}

// Until returns the plan with all steps up to a step, and without any action or fault
// turned off.
func Until(step int) Plan {
	var p Plan
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

// Schedule makes the random choices of a run.
type Schedule struct {
	jobtest.Seeded
	// Step is the number of the step in progress.
	Step int
	// Unrepeated says that Search found no violation in further runs: the controller is not
	// deterministic.
	Unrepeated bool
	seed       uint64
	source     *rand.PCG
	plan       Plan
	happened   []string // actions and faults
}

// NewSchedule returns the schedule of a plan. Its choices depend on the plan and the seed.
func NewSchedule(seed uint64, p Plan) *Schedule {
	source := rand.NewPCG(seed, 0)
	return &Schedule{Seeded: jobtest.Seeded{Rand: rand.New(source)}, seed: seed, source: source, plan: p}
}

// Part makes the next choices depend on the seed and the part of the run alone.
func (s *Schedule) Part(part uint64) { s.source.Seed(s.seed, part) }

// Run runs the steps of the plan, until one returns false. The choices of a step do not depend on
// earlier steps, so that steps can be left out.
func (s *Schedule) Run(step func() bool) {
	for _, s.Step = range s.plan.Steps {
		if s.Part(uint64(s.Step) << 8); !step() {
			return
		}
	}
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
// If no further run violates the property, Search returns the original run, with Unrepeated set.
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
	s.Unrepeated = true
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
