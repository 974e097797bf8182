package explore

import (
	"fmt"
	"strings"
	"testing"
)

// overview tells all states between two syncs, as they are when the caches have
// caught up, in a way that does not depend on the search.
func overview(t *testing.T, c Config) (told map[string]string, r Result) {
	t.Helper()
	x, err := newSearch(c)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = x.run(); err != nil || !r.Complete || r.Found != nil {
		t.Fatalf("got %+v, %v, want all states and no violation", r, err)
	}
	told = map[string]string{}
	for i := range x.states {
		s := x.states[i]
		if s.at != 0 {
			continue
		}
		if s = x.show(&s, s.lagging()); x.AllOrders && s != x.states[i] {
			continue // there is a state of its own for it
		}
		var text strings.Builder
		fmt.Fprintln(&text, s.faults, s.edits, s.behind, encoded(x.jobs.values[s.job]), x.memories.values[s.memory].Key(), x.ghosts.values[s.ghost].Key())
		for _, p := range s.pods {
			fmt.Fprintln(&text, encoded(x.pods.values[p.stored]))
		}
		told[text.String()] = strings.Join(x.objects(&s), "\n") + fmt.Sprint(s.faults, s.behind)
	}
	return told, r
}

// Of orders that make no difference one is enough: the search comes to the same
// states between two syncs as one that tries them all.
func TestAllOrders(t *testing.T) {
	for _, k := range kindsOfJob {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := k.make(1)
			c.Pods, c.Limit = 2, 1_000_000
			for _, faults := range [][]Kind{nil, {KillBefore, KillAfter}, {Lose, Refuse}, {Delete, Strip}} {
				c.Kinds = faults
				c.Faults = min(1, len(faults))
				c.AllOrders = false
				one, few := overview(t, c)
				c.AllOrders = true
				all, many := overview(t, c)
				for text, told := range all {
					if one[text] == "" {
						t.Errorf("%v: missing: %s", faults, told)
					}
				}
				for text, told := range one {
					if all[text] == "" {
						t.Errorf("%v: too many: %s", faults, told)
					}
				}
				t.Logf("%v: %d and %d states, of %d and %d", faults, len(one), len(all), few.States, many.States)
			}
		})
	}
}
