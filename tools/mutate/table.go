package main

import (
	"fmt"
	"io"
)

// tally counts the mutants of a package, those in code that is not run apart.
type tally struct{ mutants, killed, timedOut, survived, notRun int }

func (t *tally) add(v verdict) {
	if v == notRun {
		t.notRun++
		return
	}
	t.mutants++
	switch v {
	case survived:
		t.survived++
	case timedOut:
		t.timedOut++
		t.killed++
	case killed:
		t.killed++
	}
}

// rate is the percentage of mutants killed; 0 when there are none.
func (t tally) rate() float64 {
	if t.mutants == 0 {
		return 0
	}
	return 100 * float64(t.killed) / float64(t.mutants)
}

// table prints what became of the mutants, by package, and returns how many packages
// are below the least rate.
func table(mutants []*mutant, least float64, out io.Writer) int {
	var order []string
	tallies, all := map[string]*tally{}, tally{}
	for _, m := range mutants {
		if tallies[m.pkg] == nil {
			tallies[m.pkg] = &tally{}
			order = append(order, m.pkg)
		}
		tallies[m.pkg].add(m.verdict)
		all.add(m.verdict)
	}
	fmt.Fprintf(out, "\n%-20s %8s %8s %10s %9s %7s %8s\n", "package", "mutants", "killed", "timed out", "survived", "rate", "not run")
	row := func(name string, t tally, verdict string) {
		fmt.Fprintf(out, "%-20s %8d %8d %10d %9d %6.1f%% %8d%s\n", name, t.mutants, t.killed, t.timedOut, t.survived, t.rate(), t.notRun, verdict)
	}
	below := 0
	for _, pkg := range order {
		verdict := ""
		if tallies[pkg].rate() < least {
			verdict = fmt.Sprintf("  below %g %%", least)
			below++
		}
		row(pkg, *tallies[pkg], verdict)
	}
	row("all", all, "")
	return below
}
