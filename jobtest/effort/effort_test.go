package effort

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var size = Flag("size", "how many", 3, 30)

func TestFlag_overridesBothDefaults(t *testing.T) {
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
		Check(t, 5, func(t *rapid.T) { all = append(all, rapid.IntRange(0, 1<<30).Draw(t, "n")) })
		return all[:5]
	}
	if a, b := drawn(), drawn(); !slices.Equal(a, b) {
		t.Errorf("%v, then %v", a, b)
	}
}

// recorded is a test that notes its errors and goes on.
type recorded struct {
	*testing.T
	errors []string
}

func (r *recorded) Failed() bool { return len(r.errors) > 0 }

func (r *recorded) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// A property that fails for a fixed input fails the test. One that rejects an input does not.
func TestCheck_fails(t *testing.T) {
	tries := 0
	fail := func(t *rapid.T) {
		rapid.Bool().Draw(t, "any")
		if tries++; tries == 2 {
			t.Fatalf("failed")
		}
	}
	reject := func(t *rapid.T) {
		rapid.Bool().Draw(t, "any")
		if tries++; tries == 2 {
			rapid.Int().Filter(func(int) bool { return false }).Draw(t, "none")
		}
	}
	for _, c := range []struct {
		property func(*rapid.T)
		want     string
	}{{fail, "the fixed input 1: failed"}, {reject, ""}} {
		r := &recorded{T: t}
		tries = 0
		if Check(r, 3, c.property); strings.Join(r.errors, "\n") != c.want {
			t.Errorf("got %q, want %q", r.errors, c.want)
		}
	}
}
