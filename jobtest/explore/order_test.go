package explore

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/jobtest/effort"
)

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
