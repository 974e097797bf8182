// Package scenario runs what Kubernetes' own integration and end-to-end tests of
// Jobs run, against two controllers: jobfate's and the built-in one. See README.md
// of e2e for how to write a scenario.
package scenario

import (
	"os"
	"testing"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/compare"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// both plays a scenario with each controller at the same time, and then compares the final
// states of the Job. Pods live so.
func both(t *testing.T, lives kubelet.Script, scenario func(*world.World)) {
	t.Helper()
	play(t, lives, compare.Ends, scenario, jobfate, builtIn)
}

// play plays a scenario with some controllers at the same time. Of two it compares the final states
// of the Job; only differences that docs/divergences.md lists may need another comparison than compare.Ends.
func play(t *testing.T, lives kubelet.Script, difference func(a, b script.State) string, scenario func(*world.World), sides ...world.Side) {
	t.Helper()
	worlds := world.Play(t, api, lives, scenario, sides...)
	switch {
	case len(worlds) == 0:
		t.Error("no controller plays")
	case len(worlds) == 2 && difference != nil && !t.Failed():
		// One controller may still be about to reach a state that the scenario does not wait for.
		worlds[0].T, worlds[1].T = t, t
		observe.Agree(t, worlds[0].Feed, worlds[1].Feed, func() string {
			return difference(worlds[0].Current(), worlds[1].Current())
		})
	}
}

var (
	api *server.Server
	// The controllers that all scenarios share.
	jobfate, builtIn world.Side
)

func TestMain(m *testing.M) {
	os.Exit(world.RunBoth(m, &api, 32, server.Options{}, &jobfate, &builtIn))
}
