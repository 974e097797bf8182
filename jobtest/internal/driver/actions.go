package driver

import "github.com/jobfate/jobfate/jobtest"

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
