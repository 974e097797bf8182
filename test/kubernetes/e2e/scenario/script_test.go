package scenario

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// TestScripts plays the scenarios that stories runs in the simulated cluster with each controller, many
// at the same time.
func TestScripts(t *testing.T) {
	t.Parallel()
	playScripts(t, groups(t)[""], side{Side: jobfate}, side{Side: builtIn})
}

// TestScriptsTogether plays those that do something to a controller: all of a group do it together.
func TestScriptsTogether(t *testing.T) {
	groups, ours, theirs := groups(t), side{Side: jobfate}, side{Side: builtIn}
	t.Run("stop", func(t *testing.T) { playScripts(t, groups["stop"], ours.stopping(), theirs.stopping()) })
	t.Run("alone", func(t *testing.T) {
		for _, sides := range [][]side{{ours.stopping(), theirs}, {theirs.stopping(), ours}} {
			t.Run(sides[0].Name, func(t *testing.T) {
				standAside(t, sides[1].Controller)
				playScripts(t, groups["alone"], sides[0])
			})
		}
	})
	t.Run("lag", func(t *testing.T) {
		ours, theirs := jobfateProxied(t, "jobfate-late"), builtInProxied(t)
		for _, what := range []string{"jobs", "pods"} {
			t.Run(what, func(t *testing.T) {
				playScripts(t, groups["lag "+what], ours.lagging(what), theirs.lagging(what))
			})
		}
	})
}

// groups returns the scenarios by what they do to a controller.
func groups(t *testing.T) map[string][]datadriven.TestData {
	groups := map[string][]datadriven.TestData{}
	files, err := filepath.Glob("../../../stories/testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		datadriven.RunTest(t, file, func(_ *testing.T, d *datadriven.TestData) string {
			group := ""
			for _, step := range []string{"stop", "lag jobs", "lag pods"} {
				if strings.Contains(d.Input, "\n"+step+"\n") {
					group = step
				}
			}
			if d.HasArg("alone") {
				group = "alone"
			}
			d.Cmd = strings.TrimSuffix(filepath.Base(file), ".txt") + " " + d.CmdArgs[0].Key
			groups[group] = append(groups[group], *d)
			return d.Expected
		})
	}
	return groups
}

// side is a controller, and what all scenarios do to it together.
type side struct {
	world.Side
	turns *turns
}

// lagging returns a controller whose events about a resource can be held back.
func (p proxied) lagging(resource string) side {
	var release func()
	return side{p.Side, newTurns(func() error { release = hold(p.Proxy, resource); return nil }, func() error { release(); return nil })}
}

// stopping returns a controller that can be stopped, and started with an empty memory.
func (s side) stopping() side {
	return side{s.Side, newTurns(func() error { return s.Stop() }, func() error { return s.Start() })} // of each process
}

// playScripts plays scenarios with some controllers at the same time.
func playScripts(t *testing.T, scripts []datadriven.TestData, sides ...side) {
	if len(scripts) == 0 {
		t.Fatal("no scenario")
	}
	for _, d := range scripts {
		t.Run(d.Cmd, func(t *testing.T) {
			t.Parallel()
			playScript(t, d, sides)
		})
	}
}

// playScript plays a scenario with some controllers, and compares the final states of the Job.
func playScript(t *testing.T, d datadriven.TestData, sides []side) {
	s, err := script.Parse(d.Input)
	if err != nil || d.Expected == "" {
		t.Fatalf("%s: no end, or %v", d.Pos, err)
	}
	turnsOf, plays := map[*server.Controller]*turns{}, []world.Side{}
	for _, side := range sides {
		only := "built-in"
		if side.ManagedBy != nil {
			only = "jobfate"
		}
		if !d.HasArg("only") || d.CmdArgs[1].Vals[0] == only {
			turnsOf[side.Controller], plays = side.turns, append(plays, side.Side)
		}
	}
	play(t, world.Lives(s), compare.Ends, func(w *world.World) {
		turns := turnsOf[w.Side.Controller]
		turns.join()
		w.T.Cleanup(turns.leave)
		w.Actors = &together{World: w, turns: turns}
		s.Run(w.World, d.Expected)
	}, plays...)
}

// together is a world whose controller other scenarios share.
type together struct {
	*world.World
	turns    *turns
	endClock func() // while Jobs lag: ends a Job that is not the scenario's
}

func (w *together) StopController()  { w.Must(w.turns.take()) }
func (w *together) StartController() { w.Must(w.turns.take()) }

// Lag holds back all events about Jobs, or about pods. Before, it begins another Job.
func (w *together) Lag(what string) {
	if what == "jobs" {
		w.endClock = beginClock(w.World)
	}
	w.Must(w.turns.take())
}

// CatchUp releases the events when the controller has handled all others.
func (w *together) CatchUp() {
	w.T.Helper()
	if w.endClock != nil {
		w.endClock()
		w.Must(w.turns.take())
		return
	}
	_, end := w.BeginMarker()
	w.Must(w.turns.take())
	end()
}

// turns lets scenarios that share a controller do the same to it at the same time: stop it and start it
// again, or hold back its events and release them. Nil has no turns to take.
type turns struct {
	steps [2]func() error

	mu             sync.Mutex
	moved          *sync.Cond
	users, waiting int
	taken          int // turns so far
	err            error
}

// newTurns returns turns that alternate between two steps.
func newTurns(off, on func() error) *turns {
	u := &turns{steps: [2]func() error{off, on}}
	u.moved = sync.NewCond(&u.mu)
	return u
}

// join adds a scenario, which waits until the controller is on.
func (u *turns) join() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.taken%2 == 1 {
		u.moved.Wait()
	}
	u.users++
}

// take waits until all scenarios take the turn, or have left, and the step is done.
func (u *turns) take() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	mine := u.taken
	u.waiting++
	u.move()
	for u.taken == mine {
		u.moved.Wait()
	}
	return u.err
}

// leave removes a scenario. The last one leaves the controller on.
func (u *turns) leave() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users--
	u.move()
}

func (u *turns) move() {
	if u.waiting < u.users || u.waiting == 0 && u.taken%2 == 0 {
		return
	}
	u.err = u.steps[u.taken%2]()
	u.taken++
	u.waiting = 0
	u.moved.Broadcast()
}
