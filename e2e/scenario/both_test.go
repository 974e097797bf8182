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
	play(t, script, compare.Ends, scenario, world.Jobfate(jobfate), world.BuiltIn(builtIn))
}

// play plays a scenario with some controllers at the same time. Of two it compares the final states
// of the Job; only differences that docs/divergences.md lists may need another comparison than compare.Ends.
func play(t *testing.T, script kubelet.Script, difference func(a, b observe.State) string, scenario func(*world.World), sides ...world.Side) {
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
	if len(worlds) == 2 && difference != nil && !t.Failed() {
		// One controller may still be about to reach a state that the scenario does not wait for.
		observe.Agree(t, worlds[0].View, worlds[1].View, difference)
	}
}
