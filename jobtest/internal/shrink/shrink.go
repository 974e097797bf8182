// Package shrink shortens a schedule that violates a property. The kits share it, so that
// each of their reports shows only what a violation needs.
//
// The package knows nothing of what happens in a schedule.
package shrink

import (
	"slices"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// Plan is what happens in a schedule.
type Plan struct {
	Steps []int    // by number, in order
	Off   []string // actions and faults that do not happen
}

// Until returns the plan in which everything happens, until a step.
func Until(step int) Plan {
	var p Plan
	for i := range step {
		p.Steps = append(p.Steps, i+1)
	}
	return p
}

// Upto returns the plan without the steps after a step.
func (p Plan) Upto(step int) Plan {
	i, _ := slices.BinarySearch(p.Steps, step+1)
	p.Steps = p.Steps[:i]
	return p
}

// Run is a run of a schedule.
type Run interface {
	Violation() *referee.Violation
}

// Search shortens the plan of a run that violates a property, as long as the same property is
// violated in the same words. It leaves out what happened, then steps, and spends at most a
// number of runs on that. It returns a run of the shortest plan, the only one that is told.
//
// If no such run violates the property, the controller depends on chance: Search returns
// the run that was found, and again is false.
func Search[R Run](found R, p Plan, happened []string, runs int, run func(p Plan, told bool) R) (shortest R, again bool) {
	same := func(r R) bool { return r.Violation() != nil && r.Violation().Same(found.Violation()) }
	p = p.shorten(happened, func(less Plan) bool {
		runs--
		return runs >= 0 && same(run(less, false))
	})
	for range 3 {
		if r := run(p, true); same(r) {
			return r, true
		}
	}
	return found, false
}

// shorten leaves out all that is not needed.
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
			less := Plan{slices.DeleteFunc(slices.Clone(p.Steps), func(n int) bool { return n >= at && n < at+size }), p.Off}
			if len(less.Steps) < len(p.Steps) && enough(less) {
				p = less
			}
		}
		if size > 1 || len(p.Steps) == before { // else a step may not be needed any more
			size /= 2
		}
	}
	return p
}
