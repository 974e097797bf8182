package effort

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFlag_overridesBothDefaults(t *testing.T) {
	size := Flag("size", "how many", 3, 30)
	defer func() { *long = false }()
	for _, tc := range []struct {
		long bool
		set  string
		want int
	}{{false, "0", 3}, {true, "0", 30}, {false, "7", 7}, {true, "7", 7}} {
		*long = tc.long
		if err := flag.Set("size", tc.set); err != nil {
			t.Fatal(err)
		}
		if got := size(); got != tc.want {
			t.Errorf("with -long=%t -size=%s: got %d, want %d", tc.long, tc.set, got, tc.want)
		}
	}
}

// Check tries the same fixed inputs in each run.
func TestCheck_fixedInputs(t *testing.T) {
	drawn := func() (all []int) {
		Check(t, 5, func(t *rapid.T) { all = append(all, rapid.IntRange(0, 1<<40).Draw(t, "n")) })
		return all[:5]
	}
	if a, b := drawn(), drawn(); !slices.Equal(a, b) {
		t.Errorf("%v, then %v", a, b)
	}
}
