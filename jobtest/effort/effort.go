// Package effort sets the size of the searches in tests. By default they are small, so that
// "go test ./..." stays quick. With the flag -long they are as large as .ci/run requires.
package effort

import (
	"flag"
	"fmt"

	"pgregory.net/rapid"
)

var long = flag.Bool("long", false, "search as far as .ci/run does")

// Flag defines a flag for the size of a search. It returns a function that returns the value
// of the flag or, if the flag is not set, one of the two defaults.
func Flag(name, usage string, quick, full int) func() int {
	value := flag.Int(name, 0, fmt.Sprintf("%s; 0 means %d, with -long %d", usage, quick, full))
	return func() int {
		switch {
		case *value > 0:
			return *value
		case *long:
			return full
		}
		return quick
	}
}

// Check checks a property on random inputs, and on a number of fixed inputs, which are the same in
// each run. So what the property counts depends neither on chance nor on -short.
func Check(t rapid.TB, fixed int, property func(*rapid.T)) {
	t.Helper()
	for seed := range fixed {
		rapid.Custom(func(in *rapid.T) bool {
			defer func() {
				r := recover()
				if r == nil {
					return
				}
				// Example tries other inputs if the property panics. It may reject an input, not fail.
				if fmt.Sprintf("%T", r) != "rapid.invalidData" {
					t.Errorf("the fixed input %d: %v", seed, r)
				}
				panic(r)
			}()
			property(in)
			return true
		}).Example(seed)
	}
	if !t.Failed() { // rapid panics if it has
		rapid.Check(t, property)
	}
}
