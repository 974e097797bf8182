package effort

import (
	"testing"

	"pgregory.net/rapid"
)

// Check checks a property on random inputs, and on a number of fixed inputs, which are the same in
// each run. So what the property counts depends neither on chance nor on -short.
func Check(t *testing.T, fixed int, property func(*rapid.T)) {
	t.Helper()
	inputs := rapid.Custom(func(t *rapid.T) bool {
		property(t)
		return true
	})
	for seed := range fixed {
		inputs.Example(seed)
	}
	rapid.Check(t, property)
}
