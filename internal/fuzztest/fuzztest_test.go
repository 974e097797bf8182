package fuzztest_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/internal/fuzztest"
)

// run runs a property as a fuzz target, and reports whether the target skipped the input.
func run(t *testing.T, input []byte, property func(*rapid.T)) (skipped bool) {
	t.Helper()
	t.Run("", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		fuzztest.Target(rapid.MakeFuzz(property))(t, input)
	})
	return skipped
}

// A property that draws more than the input has is not skipped: the rest is the simplest.
func TestTarget_shortInput(t *testing.T) {
	for _, input := range []string{"", "a", "abc"} {
		var got []int
		if run(t, []byte(input), func(t *rapid.T) {
			got = rapid.SliceOfN(rapid.IntRange(3, 9), 1000, 1000).Draw(t, "list")
		}) {
			t.Errorf("%q is skipped", input)
		}
		if len(got) != 1000 || !slices.Equal(got[4:], slices.Repeat([]int{3}, 996)) {
			t.Errorf("%q: got %v, want 1000 numbers, the last ones 3", input, got)
		}
	}
}

// Each choice can be reached by its byte, and no other byte affects it.
func TestTarget_byteIsAChoice(t *testing.T) {
	reached := map[[2]bool]bool{}
	for first := range 256 {
		for _, second := range []byte{0, 1, 2, 3} {
			var got [2]bool
			run(t, []byte{byte(first), second}, func(t *rapid.T) {
				got = [2]bool{rapid.Bool().Draw(t, "a"), rapid.Bool().Draw(t, "b")}
			})
			reached[got] = true
		}
	}
	if len(reached) != 4 {
		t.Errorf("reached %v, want all four", reached)
	}
}
