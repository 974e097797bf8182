package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// syncing is a controller that is a function.
type syncing func(*cluster.Client) (time.Duration, error)

// Sync implements cluster.Controller.
func (s syncing) Sync(client *cluster.Client) (time.Duration, error) { return s(client) }

// foundBy has a seed for each bug that few runs find. The test tries it first. If the
// generator has changed since, the test must find another seed, which takes longer.
var foundBy = map[string]uint64{
	"maxFailedIndexes is ignored": 1809,
	"FailJob is read as Count":    137,
	"seen, a pod that fails the Job is counted before the verdict is stored":         1559,
	"k131917, k142142, memory is keyed by the name":                                  965,
	"seen, k125410, k111646, a counted pod is classified again when its phase flips": 483,
	"a creation is sent again and counted although its pod has finished":             479,
	"a lost creation is reported as rejected":                                        249,
	"KEP-3329, a rule other than the first match decides":                            195,
}

// seedsFor returns the seeds to try. A run with one of them must find the bug.
func seedsFor(bug string) []uint64 {
	const runs = 3000
	all := []uint64{foundBy[bug]}
	for seed := range uint64(runs) {
		all = append(all, seed)
	}
	return all
}

// TestPutBack injects known bugs, one at a time, and requires that a run finds each. The
// names refer to issues and pull requests of kubernetes/kubernetes; "seen" marks bugs of
// release 1.37.
func TestPutBack(t *testing.T) {
	for _, bug := range slices.Concat(knownBugs, misread) {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range seedsFor(bug.name) {
				cfg := Config{Seed: seed, Mode: Liveness, Controller: bug.controller, Retries: -1}
				if bug.job != nil {
					cfg.Job = Job(seed)
					bug.job(&cfg.Job.Spec)
				}
				if v := Run(cfg).Violation; v != nil && slices.Contains(strings.Fields(bug.property), v.Property) {
					t.Logf("seed %d: %v", seed, v)
					return
				}
			}
			t.Error("no run finds it")
		})
	}
}
