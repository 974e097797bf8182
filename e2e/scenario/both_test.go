package scenario

import (
	"testing"

	"github.com/jobfate/jobfate/e2e/compare"
	"github.com/jobfate/jobfate/e2e/observe"
	"github.com/jobfate/jobfate/e2e/world"
	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// both plays a scenario with each controller at the same time, and then compares the final
// states of the Job. Pods follow the script.
func both(t *testing.T, script kubelet.Script, scenario func(*world.World)) {
	t.Helper()
	bothBut(t, script, compare.Ends, scenario)
}

// bothBut is both with another comparison of the final states, jobfate's first. It is for
// differences that docs/divergences.md lists.
func bothBut(t *testing.T, script kubelet.Script, difference func(ours, theirs observe.State) string, scenario func(*world.World)) {
	t.Helper()
	worlds := play(t, script, scenario, world.Jobfate(jobfate), world.BuiltIn(builtIn))
	if !t.Failed() {
		// One controller may still be about to reach a state that the scenario does not wait
		// for.
		observe.Agree(t, worlds[0].View, worlds[1].View, difference)
	}
}

// onlyJobfate plays a scenario with jobfate's controller only.
func onlyJobfate(t *testing.T, script kubelet.Script, scenario func(*world.World)) {
	t.Helper()
	play(t, script, scenario, world.Jobfate(jobfate))
}

func play(t *testing.T, script kubelet.Script, scenario func(*world.World), sides ...world.Side) []*world.World {
	t.Helper()
	var worlds []*world.World
	for _, side := range sides {
		worlds = append(worlds, world.New(t, api, side, script))
	}
	t.Run("with", func(t *testing.T) {
		for _, w := range worlds {
			t.Run(w.Side.Name, func(t *testing.T) {
				t.Parallel()
				w.T = t
				t.Cleanup(w.LogOnFailure)
				scenario(w)
				w.Settle()
			})
		}
	})
	return worlds
}
