package main

import (
	"os"
	"testing"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

var api *server.Server

func TestMain(m *testing.M) { os.Exit(server.RunAlone(m, &api)) }

// All workloads run at a small size. For each pod, each controller makes one call to create it and
// one to remove its finalizer. In total, jobfate's controller makes no more calls than the built-in
// one, apart from a few that depend on the timing of syncs.
func TestSmall(t *testing.T) {
	r, err := run(t.Context(), api, settings{
		indexes: 100, failing: 50, jobs: 10, qps: 1000, fairQPS: 100, workers: 5, order: "AB", quiet: 1500 * time.Millisecond,
		lag: 300 * time.Millisecond,
	}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", r)
	if got, want := len(r.rows), 7; got != want {
		t.Fatalf("got %d workloads, want %d", got, want)
	}
	const chance = 1.2
	for _, row := range r.rows {
		a, b := row.jobfate[0], row.builtIn[0]
		if a.pods == 0 || a.cpu == 0 || a.memory == 0 || b.cpu == 0 || b.memory == 0 {
			t.Errorf("%s: nothing was measured: %s, and %s", row.name, a, b)
		}
		calls := func(c *cost, call proxy.Call) float64 { return float64(c.calls.Of(call)) / float64(c.pods) }
		for _, call := range []proxy.Call{{Verb: "create", Resource: "pods"}, {Verb: "patch", Resource: "pods"}} {
			if got := calls(a, call); got != 1 {
				t.Errorf("%s: %s: %.3f calls per pod, want 1", row.name, call, got)
			}
		}
		if got, other := calls(a, proxy.Call{}), calls(b, proxy.Call{}); got > chance*other {
			t.Errorf("%s: %.3f calls per pod, the built-in controller makes %.3f", row.name, got, other)
		}
	}
	if beside := r.rows[6]; len(beside.jobfate[0].waits) == 0 {
		t.Error("no small Job was measured beside the large one")
	}
}
