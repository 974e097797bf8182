package driver

import (
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// brokenBy returns a schedule with a violation, or with none.
func brokenBy(v *referee.Violation) *Schedule {
	s := &Schedule{}
	s.Found(v)
	return s
}

// Search leaves out everything that a violation does not need, also if the needed steps are
// far apart.
func TestSearch(t *testing.T) {
	violation := &referee.Violation{Property: "S1", Text: "2 pods are active"}
	for _, c := range []struct {
		name   string
		needs  []int    // steps
		event  string   // an event that must happen
		other  []int    // without these steps, another property is violated
		before [2]int   // the first is needed while the second is in the plan
		runs   int      // the limit for runs
		steps  []int    // the steps that are left
		off    []string // the actions that are left out
		most   int      // the maximum number of runs used
	}{
		{name: "one step", needs: []int{137}, runs: 500, steps: []int{137}, off: []string{"a", "b", "c"}, most: 20},
		{name: "no step", runs: 500, off: []string{"a", "b", "c"}, most: 5},
		{name: "the first and the last", needs: []int{1, 200}, runs: 500, steps: []int{1, 200}, off: []string{"a", "b", "c"}, most: 35},
		{name: "four steps", needs: []int{3, 50, 51, 180}, runs: 500, steps: []int{3, 50, 51, 180}, off: []string{"a", "b", "c"}, most: 60},
		{name: "an event", needs: []int{9}, event: "b", runs: 500, steps: []int{9}, off: []string{"a", "c"}, most: 22},
		{name: "another violation is not the same", needs: []int{9}, other: []int{20}, runs: 500, steps: []int{9, 20}, off: []string{"a", "b", "c"}, most: 35},
		{name: "a step that is needed only with another", needs: []int{8, 10}, before: [2]int{7, 9}, runs: 500, steps: []int{8, 10}, off: []string{"a", "b", "c"}, most: 40},
		{name: "no runs", needs: []int{9}, steps: Until(200).Steps},
		{name: "few runs", needs: []int{9}, runs: 5, steps: Until(100).Steps, off: []string{"a", "b", "c"}, most: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			spent, recorded := 0, 0
			var last Plan
			run := func(p Plan, tell bool) *Schedule {
				if last = p; tell {
					recorded++
				} else {
					spent++
				}
				has := func(step int) bool { return slices.Contains(p.Steps, step) }
				switch {
				case slices.Contains(p.Off, c.event), !has(c.before[0]) && has(c.before[1]):
					return brokenBy(nil)
				case slices.IndexFunc(c.needs, func(n int) bool { return !has(n) }) >= 0:
					return brokenBy(nil)
				case slices.IndexFunc(c.other, func(n int) bool { return !has(n) }) >= 0:
					return brokenBy(&referee.Violation{Property: "S2", Text: violation.Text})
				}
				return brokenBy(violation)
			}
			all := brokenBy(violation)
			all.Step, all.plan, all.happened = 200, Until(230), []string{"a", "b", "c"}
			got := Search(all, c.runs, run)
			if got.Violation() != violation || recorded != 1 || all.Report("").Chance {
				t.Errorf("found %v, recorded %d times; want it recorded once", got.Violation(), recorded)
			}
			if !slices.Equal(last.Steps, c.steps) || !slices.Equal(last.Off, c.off) {
				t.Errorf("the plan has the steps %v without %q, want %v without %q", last.Steps, last.Off, c.steps, c.off)
			}
			if spent > c.most {
				t.Errorf("%d runs are used, want at most %d", spent, c.most)
			}
		})
	}
}

// Search reports that a violation did not occur again.
func TestSearch_chance(t *testing.T) {
	violation := &referee.Violation{Property: "S1", Text: "2 pods are active"}
	recorded := 0
	all := brokenBy(violation)
	all.Step, all.plan = 10, Until(10)
	got := Search(all, 10, func(_ Plan, tell bool) *Schedule {
		if tell {
			recorded++
		}
		return brokenBy(nil)
	}).Report("")
	if !got.Chance || recorded != 3 || got.Violation != violation {
		t.Errorf("unrepeated: %v, after %d runs, with %v; want the original violation, after 3", got.Chance, recorded, got.Violation)
	}
}

// Act executes an action unless the plan leaves it out, and records those that had an effect.
func TestAct(t *testing.T) {
	table := []Action[*int]{
		{Name: "works", Step: 1, Do: func(n *int) bool { *n++; return true }},
		{Name: "fails", Step: 1, Do: func(*int) bool { return false }},
		{Name: "off", Step: 1, Do: func(*int) bool { panic("it is left out") }},
		{Name: "aside", Aside: 1, Do: func(*int) bool { panic("it is no step") }},
	}
	s, n := NewSchedule(1, Plan{Off: []string{"off"}}), 0
	for range 100 {
		Act(s, table, AsStep, func(i int) bool { return table[i].Do(&n) })
	}
	if n == 0 || !slices.Equal(s.happened, []string{"works"}) {
		t.Errorf("%q happened, %d times; want the action that works", s.happened, n)
	}
}

// A fault happens to the requests that it can concern, unless the plan leaves it out.
func TestFault(t *testing.T) {
	for _, c := range []struct {
		q                    Request
		names, lost, killing int // the number of faults
	}{
		{Request{}, 6, 0, 1},
		{Request{Writes: true}, 10, 4, 2},
		{Request{Writes: true, Creates: true}, 11, 4, 2},
	} {
		s, lost, killing := NewSchedule(1, Plan{Off: Untrue}), map[int]bool{}, map[int]bool{}
		for range 5000 {
			if i, fault := s.Fault(c.q, func() {}); i >= 0 {
				lost[i], killing[i] = fault.Lost, fault.Killed
			}
		}
		isFalse := func(_ int, is bool) bool { return !is }
		maps.DeleteFunc(lost, isFalse)
		maps.DeleteFunc(killing, isFalse)
		if len(s.happened) != c.names || len(lost) != c.lost || len(killing) != c.killing {
			t.Errorf("%+v: of the faults %q %v take effect and %v kill, want %+v", c.q, s.happened, lost, killing, c)
		}
	}
}

// Without faults, or after a violation, nothing goes wrong and nothing happens meanwhile, except that a quota may reject
// creations. The first violation is the one that counts, and ends the run.
func TestFault_none(t *testing.T) {
	faultless, broken := NewSchedule(1, Until(5)), NewSchedule(1, Until(5))
	faultless.Faultless, faultless.NoCreations = true, true
	broken.Run(func() bool { return broken.Violate("S1", "2 pods") })
	if broken.Violate("S2", "a pod"); broken.Step != 1 || broken.Violation().Property != "S1" {
		t.Errorf("%v after %d steps, want S1 after one", broken.Violation(), broken.Step)
	}
	for _, s := range []*Schedule{faultless, broken} {
		for range 1000 {
			i, fault := s.Fault(Request{Writes: true}, func() { t.Fatal("something happens before") })
			if i >= 0 || fault.Err != nil || s.Meanwhile(100) {
				t.Fatalf("the fault %d: %v", i, fault.Err)
			}
		}
		_, fault := s.Fault(Request{Creates: true}, nil)
		if rejected := apierrors.IsForbidden(fault.Err); rejected != s.NoCreations {
			t.Errorf("a creation is rejected: %v", fault.Err)
		}
	}
}
