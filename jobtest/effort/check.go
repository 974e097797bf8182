package effort

import (
	"fmt"

	"pgregory.net/rapid"
)

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
