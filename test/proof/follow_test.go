package proof

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/jobtest/explore"
)

var (
	states    = effort.Flag("states", "the states of one search, times those of its scope", 20, manyStates)
	schedules = effort.Flag("schedules", "how many random schedules to follow", 300, 4_000)

	visited, complete atomic.Int64 // how many states the searches have visited, and how many of them visited all
)

// total adds up what all tests have checked.
var total struct {
	sync.Mutex
	Counts
}

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1200) // most of what the searches keep stays; collecting it takes a fifth of the time
	debug.SetMemoryLimit(6 << 30)
	code := m.Run()
	if total.Steps > 0 {
		fmt.Printf("%d states in the searches, %d of them complete\n%d steps checked, as %d pairs of states, by action: %v\nof %d pods, not followed further: %v\n",
			visited.Load(), complete.Load(), total.Steps, total.Checks, total.Actions, total.Pods, total.Out)
	}
	os.Exit(code)
}

// finish reports a refused step, and adds to the total.
func finish(t *testing.T, name string, f *Follower) {
	if f.Refused != nil {
		t.Errorf("%s: %v", name, f.Refused)
	}
	total.Lock()
	defer total.Unlock()
	total.add(&f.Counts)
}

// These must be reached with -long: the number of states of a search, how many searches are complete, and the number
// of checked steps.
const (
	manyStates    = 4_000
	leastComplete = 57
	leastSteps    = 10_000_000
)

// followed is the number of states of a search, times those of its scope, whose steps are followed. The referee
// checks the steps of all.
const followed = 600

// Every step of the exhaustive search and of random schedules is a step of the model, and every action
// of the model is taken, except those that break an assumption.
func TestRefinement(t *testing.T) {
	p := Must(Must(Load()).compile())
	t.Run("searches", func(t *testing.T) { followSearches(t, p) })
	t.Run("schedules", func(t *testing.T) {
		for seed := range uint64(schedules()) {
			finish(t, fmt.Sprintf("seed %d", seed), follow(p, Options{}, chaos.Config{Seed: seed}))
		}
	})
	t.Run("schedules with options", func(t *testing.T) { followOptions(t, p) })
	if states() < manyStates {
		return // too few to take the rare actions
	}
	for name, a := range p.actions {
		if breaks := p.broken(a); (total.Actions[name] > 0) == breaks {
			t.Errorf("%s breaks an assumption: %t, but it was taken %d times", name, breaks, total.Actions[name])
		}
	}
	if n := complete.Load(); n < leastComplete {
		t.Errorf("%d searches are complete, want at least %d", n, leastComplete)
	}
	if total.Steps < leastSteps {
		t.Errorf("%d steps were checked, want at least %d", total.Steps, leastSteps)
	}
}

// broken reports whether an action is possible only if an assumption does not hold.
func (p *program) broken(a *compiled) bool {
	for _, part := range flat(a.formula) {
		for _, assumed := range p.Assumptions {
			if part.String() == not(expr{word: assumed.Name}).String() {
				return true
			}
		}
	}
	return false
}

func followSearches(t *testing.T, p *program) {
	for _, s := range explore.Searches() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := &searched{Follower: NewFollower(p), limit: followed * s.Size}
			r, err := s.Run(states()*s.Size, f.observe)
			if err != nil || r.Found != nil {
				t.Fatal(err, r.Found)
			}
			if r.Complete {
				complete.Add(1)
			}
			visited.Add(int64(r.States + r.Faultless))
			finish(t, s.Name, f.Follower)
		})
	}
}

// follow follows a schedule. A cache that goes back in time breaks the assumption lasting.
func follow(p *program, o Options, c chaos.Config) *Follower {
	f := NewFollower(p)
	f.Versions, f.Options = true, o
	var w *world
	c.Retries, c.Without = -1, append(c.Without, "cache goes back in time")
	c.Observe = func(e *cluster.Event) {
		if f.Refused == nil {
			f.Steps++
			w = f.follow(w, e)
		}
	}
	chaos.Run(c)
	return f
}
