package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const lifetimeHeader = `| indexes | at once | each index | regular | per index | ratio | target | met | a pod: regular | per index | syncs | with the cluster |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`

// A lifetimeRow is a line of the table of lifetimes.
type lifetimeRow struct {
	lifetime
	took  result // of the regular Job and the one per index: in jobfate
	whole []time.Duration
	syncs [2]int
}

// measureLifetimes goes through the lives of Jobs of that many indexes, with all
// of them at once and with a tenth at a time.
func measureLifetimes(runs int, indexes []int, emit func(lifetimeRow)) error {
	for _, n := range indexes {
		tenth := max(1, n/10)
		for _, l := range []lifetime{{n, n, false}, {n, n, true}, {n, tenth, false}, {n, tenth, true}} {
			r, err := l.measure(runs)
			if err != nil {
				return fmt.Errorf("%d indexes, %d at once: %w", l.indexes, l.parallelism, err)
			}
			emit(r)
		}
	}
	return nil
}

// measure leads a regular Job and one with a backoff limit per index through
// their lives beside each other.
func (l lifetime) measure(runs int) (lifetimeRow, error) {
	runtime.LockOSThread() // whose time the clock tells
	defer runtime.UnlockOSThread()
	row := lifetimeRow{lifetime: l, took: make(result, 2)}
	for range runs {
		runtime.GC()
		start := clock()
		var callers [2]*timedCaller
		var lives [2]*life
		for side := range lives {
			var err error
			callers[side] = newTimedCaller()
			if lives[side], err = l.begin(side == 1, callers[side]); err != nil {
				return lifetimeRow{}, err
			}
		}
		if err := together(lives[:]...); err != nil {
			return lifetimeRow{}, err
		}
		row.whole = append(row.whole, (clock()-start)/2)
		for side, c := range callers {
			row.took[side] = append(row.took[side], c.took)
			row.syncs[side] = lives[side].syncs
		}
	}
	return row, nil
}

func (r lifetimeRow) String() string {
	goal, what := atMost(1.01, "≤ 1.01"), "succeeds"
	if r.failing {
		goal, what = atMost(1.10, "≤ 1.10"), "fails once"
	}
	met, ratio := "**no**", r.took.ratio(1, 0)
	if goal.met(ratio) {
		met = "yes"
	}
	syncs := strconv.Itoa(r.syncs[0])
	if r.syncs[1] != r.syncs[0] {
		syncs += ", " + strconv.Itoa(r.syncs[1])
	}
	perPod := func(side int) string { return span(r.took.median(side) / time.Duration(r.pods())) }
	cells := []string{
		many(r.indexes), many(r.parallelism), what, span(r.took.median(0)), span(r.took.median(1)),
		fmt.Sprintf("%.3f ×", ratio), goal.text, met, perPod(0), perPod(1), syncs, span(middle(r.whole)),
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// numbers reads a list of positive numbers.
func numbers(list string) (out []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of indexes", text)
		}
		out = append(out, n)
	}
	return out, nil
}
