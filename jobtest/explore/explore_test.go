package explore

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
)

// Each search goes on until it has seen every state, or this many. Of one that
// ends early only safety is known.
var most = flag.Int("states", 250_000, "the most states of one search")

var states, complete, searches atomic.Int64

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	fmt.Printf("%d states in %d searches, %d of them complete\n", states.Load(), searches.Load(), complete.Load())
	os.Exit(code)
}

func search1(t *testing.T, c Config) Result {
	t.Helper()
	r, err := Search(c)
	if err != nil {
		t.Fatal(err)
	}
	states.Add(int64(r.States))
	searches.Add(1)
	if r.Complete {
		complete.Add(1)
	}
	if r.Found != nil {
		t.Errorf("%d states, %d deep:\n%v", r.States, r.Depth, r.Found)
	}
	t.Logf("%d states, %d transitions, %d deep, at rest in %d, complete: %v", r.States, r.Transitions, r.Depth, r.Ends, r.Complete)
	return r
}

// scope is how large the Jobs are, and how much goes wrong.
type scope struct {
	name              string
	completions, pods int32
	faults            int
	kinds             []Kind
}

var scopes = []scope{
	{"no fault", 2, 3, 0, nil},
	{"one fault, small", 1, 2, 1, Faults()},
	{"killed", 2, 3, 1, []Kind{KillBefore, KillAfter}},
	{"one fault", 2, 3, 1, Faults()},
	{"two faults, small", 1, 2, 2, Faults()},
}

// TestEverything tries everything that can happen to each kind of Job, in each
// scope.
func TestEverything(t *testing.T) {
	for _, s := range scopes {
		for _, k := range kindsOfJob {
			t.Run(s.name+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				c := k.make(s.completions)
				c.Name, c.Pods, c.Faults, c.Kinds, c.Limit = k.name, int(s.pods), s.faults, s.kinds, *most
				search1(t, c)
			})
		}
	}
}
