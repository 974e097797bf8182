package driver

import (
	"slices"
	"testing"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// result is the violation of a run, or nil.
type result struct {
	*Schedule
	broken *referee.Violation
}

func (r result) Violation() *referee.Violation { return r.broken }

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
			run := func(p Plan, tell bool) result {
				if last = p; tell {
					recorded++
				} else {
					spent++
				}
				has := func(step int) bool { return slices.Contains(p.Steps, step) }
				switch {
				case slices.Contains(p.Off, c.event), !has(c.before[0]) && has(c.before[1]):
					return result{}
				case slices.IndexFunc(c.needs, func(n int) bool { return !has(n) }) >= 0:
					return result{}
				case slices.IndexFunc(c.other, func(n int) bool { return !has(n) }) >= 0:
					return result{broken: &referee.Violation{Property: "S2", Text: violation.Text}}
				}
				return result{broken: violation}
			}
			all := &Schedule{Step: 200, plan: Until(200), happened: []string{"a", "b", "c"}}
			got := Search(result{all, violation}, c.runs, run)
			if got.broken != violation || recorded != 1 || all.Unrepeated {
				t.Errorf("found %v, recorded %d times; want it recorded once", got.broken, recorded)
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
	got := Search(result{&Schedule{Step: 10, plan: Until(10)}, violation}, 10, func(_ Plan, tell bool) result {
		if tell {
			recorded++
		}
		return result{}
	})
	if !got.Unrepeated || recorded != 3 || got.broken != violation {
		t.Errorf("unrepeated: %v, after %d runs, with %v; want the original violation, after 3", got.Unrepeated, recorded, got.broken)
	}
}

// upto leaves out later steps.
func TestPlan_upto(t *testing.T) {
	p := Plan{Steps: []int{2, 4, 6}, Off: []string{"a"}}
	for step, want := range map[int][]int{0: {}, 2: {2}, 5: {2, 4}, 6: {2, 4, 6}, 7: {2, 4, 6}} {
		if got := p.upto(step); !slices.Equal(got.Steps, want) || !slices.Equal(got.Off, p.Off) {
			t.Errorf("up to %d: %v without %q, want %v", step, got.Steps, got.Off, want)
		}
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
		s := NewSchedule(1, Plan{Off: Untrue})
		for range 5000 {
			s.Fault(c.q)
		}
		lost, killing := 0, 0
		for _, f := range Faults {
			if is := f.Of(c.q); slices.Contains(s.happened, f.Name) {
				lost, killing = lost+map[bool]int{true: 1}[is.Lost], killing+map[bool]int{true: 1}[is.Killed]
			}
		}
		if len(s.happened) != c.names || lost != c.lost || killing != c.killing {
			t.Errorf("%+v: %d of the faults %q take effect and %d kill, want %+v", c.q, lost, s.happened, killing, c)
		}
	}
}
