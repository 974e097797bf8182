package explore

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/effort"
)

// Each search ends when it has visited every state, or this number of states times that of
// its scope. A search that ends early then only follows paths without faults.
var unit = effort.Flag("states", "the states of one search, times those of its scope", 2, 4_000)

var states, faultless, complete, searches atomic.Int64

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // there are many small states, which all stay alive
	code := m.Run()
	fmt.Printf("%d states in %d searches, %d of them complete; %d more on paths without faults\n", states.Load(), searches.Load(), complete.Load(), faultless.Load())
	os.Exit(code)
}

// TestEverything searches each kind of Job in each scope. The largest of these searches that .ci/run makes is in
// test/proof, which follows their steps.
func TestEverything(t *testing.T) {
	for _, s := range Searches() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			r := Must(s.Run(unit()*s.Size, nil))
			if r.Found != nil {
				t.Errorf("%v", r.Found)
			}
			states.Add(int64(r.States))
			faultless.Add(int64(r.Faultless))
			searches.Add(1)
			if r.Complete {
				complete.Add(1)
			}
			t.Logf("%d states, %d transitions, complete: %v, %d on paths without faults, at rest in %d", r.States, r.Transitions, r.Complete, r.Faultless, r.Ends)
		})
	}
}

// searched runs a search, which must visit all states and find no violation.
func searched(t *testing.T, c config) (*search, Result) {
	t.Helper()
	x := Must(newSearch(c))
	r, err := x.run()
	if err != nil || r.Found != nil || !r.Complete || r.Ends == 0 {
		t.Fatalf("got %+v (%v), want all states and no violation", r, err)
	}
	return x, r
}

// The statuses of init containers age as well, because a delay may be counted from the end
// of a sidecar.
func TestSidecarsAge(t *testing.T) {
	c := jobOf(1, func(s *batchv1.JobSpec) {
		s.Template.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "image", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
	})
	c.Pods = 2
	searched(t, c)
}

// A pod that is adopted while its Job is suspended is deleted in the same sync, unless it ends
// after its adoption.
func TestAdoptedAndDeleted(t *testing.T) {
	c := jobOf(1, parallelism(1))
	c.Pods, c.Faults, c.Kinds, c.Edits = 1, 1, []faultKind{orphan}, []func(*batchv1.JobSpec){suspend(true)}
	x, _ := searched(t, c)
	last := func(s state, want ...answer) bool {
		answers := x.positions[s.at].answers
		return slices.Equal(answers[max(0, len(answers)-len(want)):], want)
	}
	patched, deleted, kept := answer{pod: 1}, false, false
	for _, s := range x.states {
		if s.at != 0 {
			next := x.positions[s.at].request
			deleted = deleted || next.Verb == cluster.Delete && last(s, patched, patched)
			kept = kept || last(s, patched, answer{kind: conflict})
		}
	}
	if !deleted || !kept {
		t.Errorf("adopted and deleted: %t, adopted and kept: %t; want both", deleted, kept)
	}
}

// overview returns all states between two syncs after the caches have caught up. The key of
// a state does not depend on the search; the value is for people.
func overview(t *testing.T, c config) (states map[string]string, r Result) {
	t.Helper()
	x, r := searched(t, c)
	states = map[string]string{}
	for i := range x.states {
		s := x.states[i]
		if s.at != 0 {
			continue
		}
		s = x.show(&s, s.lagging())
		if x.canonical(&x.states[i], &s); x.AllOrders && s != x.states[i] {
			continue // the state after catching up is a separate one
		}
		var text strings.Builder
		fmt.Fprintln(&text, s.faults, s.edits, s.behind, encoded(x.jobs.values[s.job]), x.memories.values[s.memory].key(), x.ghosts.values[s.ghost].Key())
		for _, p := range s.pods {
			fmt.Fprintln(&text, encoded(x.pods.values[p.stored]))
		}
		states[text.String()] = strings.Join(x.objects(&s), "\n")
	}
	return states, r
}

// The first group has no faults; each further group takes longer.
var ordered = effort.Flag("ordered", "how many groups of faults TestAllOrders tries", 1, 6)

// If orders make no difference, one is enough: the search reaches the same states between
// two syncs as a search that tries all orders.
func TestAllOrders(t *testing.T) {
	requests := [][]faultKind{{killBefore, killAfter}, {refuse, lose}}
	pods := [][]faultKind{{deletePod, force, disrupt, loseNode}, {orphan, strip}}
	job := [][]faultKind{{deleteJob, deleteJobForeground, deleteJobOrphan}}
	faults := map[string][][]faultKind{ // for each kind, those that do not take too long
		"regular":           slices.Concat([][]faultKind{nil}, requests, pods, job),
		"per index":         slices.Concat([][]faultKind{nil}, requests, pods),
		"started suspended": {nil},
		"no retry":          {nil, {otherLeader}},
	}
	if ordered() == 1 {
		delete(faults, "started suspended") // takes the longest
	}
	for _, k := range kindsOfJob {
		if faults[k.name] == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, kinds := range faults[k.name][:min(ordered(), len(faults[k.name]))] {
				c := k.make(1)
				c.Pods, c.Kinds, c.Faults, c.Limit = 2, kinds, min(1, len(kinds)), 1_000_000
				if slices.Contains(kinds, otherLeader) {
					c.Faults = 2 // the first leader continues
				}
				one, few := overview(t, c)
				c.AllOrders = true
				all, many := overview(t, c)
				for text, states := range all {
					if one[text] == "" {
						t.Errorf("%v: missing:\n%s", kinds, states)
					}
				}
				for text, states := range one {
					if all[text] == "" {
						t.Errorf("%v: too many:\n%s", kinds, states)
					}
				}
				t.Logf("%v: %d states between two syncs, of %d with one order and %d with all", kinds, len(one), few.States, many.States)
			}
		})
	}
}
