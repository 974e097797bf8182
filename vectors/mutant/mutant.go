// Package mutant switches mutants on and off. A mutant is a small mistake that tools/mutate puts into a copy of
// the code: with the flag -switch it puts all of them into one copy, each behind a call of Is.
package mutant

import "math"

// On is the mutant that is switched on; 0 if none is.
var On int

// Reached is called, if it is set, for each mutant that the code reaches.
var Reached func(n int)

// Left is the number of calls of Is before it panics: code that uses them up is in a loop.
var Left = math.MaxInt

// Is reports whether a mutant is switched on.
func Is(n int) bool {
	if Left--; Left < 0 {
		panic("the code does not end")
	}
	if Reached != nil {
		Reached(n)
	}
	return n == On
}
