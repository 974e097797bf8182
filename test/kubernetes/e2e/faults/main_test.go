// Package faults tests a controller while the controller, its connection or the server is
// disturbed. The final states must equal those of undisturbed runs, and must agree with the
// kubelet's record of every pod.
package faults

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var (
	kills    = flag.Int("kills", 50, "the number of SIGKILLs of the controller")
	indexes  = flag.Int("indexes", 500, "the `size` of the Jobs whose controller is killed; the Jobs of other tests have a fifth of it")
	seedFlag = flag.Uint64("seed", 0, "the random seed; 0: a new one")
)

var (
	api *server.Server
	// The side whose controller is not disturbed.
	undisturbed world.Side
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 32, func(ctx context.Context, s *server.Server) (err error) {
		const name = "undisturbed"
		undisturbed.ManagedBy = new("jobfate.dev/" + name)
		undisturbed.Controller, err = s.Jobfate(ctx, server.Options{
			Name: name, QPS: qps, Burst: qps, Args: []string{"--managed-by=" + *undisturbed.ManagedBy},
		})
		return err
	}))
}

// qps limits the writes of each controller. It is far above what the API server can handle.
const qps = 1000

// small is the size of the Jobs of most tests.
func small() int { return *indexes / 5 }

// newRand returns the random source of a test, and logs its seed if the test fails.
func newRand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("to repeat this run: -seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}
