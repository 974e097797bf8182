package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobfate/jobfate/test/kubernetes/e2e/proxy"
)

// report holds the costs of the runs.
type report struct {
	rows []*row
}

// row is a workload.
type row struct {
	name             string
	jobfate, builtIn []*cost
}

func (r *report) add(workload, side string, c *cost) {
	if len(r.rows) == 0 || r.rows[len(r.rows)-1].name != workload {
		r.rows = append(r.rows, &row{name: workload})
	}
	last := r.rows[len(r.rows)-1]
	if side == "built-in" {
		last.builtIn = append(last.builtIn, c)
	} else {
		last.jobfate = append(last.jobfate, c)
	}
}

// String returns a Markdown table.
func (r *report) String() string {
	var b strings.Builder
	b.WriteString("| | jobfate | built-in | ratio |\n| --- | ---: | ---: | ---: |\n")
	for _, row := range r.rows {
		fmt.Fprintf(&b, "| **%s** | | | |\n", row.name)
		for _, m := range row.measures() {
			a, c := m.of(row.jobfate), m.of(row.builtIn)
			ratio := "–"
			if c > 0 {
				ratio = fmt.Sprintf("%.2f", a/c)
			}
			fmt.Fprintf(&b, "| %s | %.*f | %.*f | %s |\n", m.name, m.digits, a, m.digits, c, ratio)
		}
	}
	return b.String()
}

// measure is a row of the table: a number computed from some runs.
type measured struct {
	name   string
	digits int
	of     func([]*cost) float64
}

func (r *row) measures() []measured {
	list := []measured{
		{"time to completion, s", 1, median(func(c *cost) float64 { return c.took.Seconds() })},
		{"CPU, s", 2, median(func(c *cost) float64 { return c.cpu.Seconds() })},
		{"CPU per pod, ms", 2, median(func(c *cost) float64 { return c.cpu.Seconds() * 1000 / float64(c.pods) })},
		{"peak memory, MB", 0, median(func(c *cost) float64 { return float64(c.memory) / (1 << 20) })},
		{"calls per pod", 3, perPod(proxy.Call{})},
	}
	for _, call := range r.calls() {
		list = append(list, measured{"— " + call.String(), 3, perPod(call)})
	}
	if len(r.jobfate) > 0 && len(r.jobfate[0].waits) > 0 {
		list = append(list,
			measured{"first pod after, p50, s", 2, wait(0.5)},
			measured{"first pod after, p99, s", 2, wait(0.99)},
		)
	}
	return list
}

// calls lists the kinds of calls that either controller makes, in order.
func (r *row) calls() []proxy.Call {
	kinds := map[proxy.Call]bool{}
	for _, c := range slices.Concat(r.jobfate, r.builtIn) {
		for call := range c.calls {
			kinds[call] = true
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b proxy.Call) int {
		return cmp.Or(-strings.Compare(a.Resource, b.Resource), strings.Compare(a.Verb, b.Verb))
	})
}

// median returns the median of the runs, or the mean of two.
func median(of func(*cost) float64) func([]*cost) float64 {
	return func(list []*cost) float64 {
		if len(list) == 0 {
			return 0
		}
		var values []float64
		for _, c := range list {
			values = append(values, of(c))
		}
		slices.Sort(values)
		return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
}

func perPod(call proxy.Call) func([]*cost) float64 {
	return median(func(c *cost) float64 { return float64(c.calls.Of(call)) / float64(c.pods) })
}

// wait returns the quantile of the waits of the Jobs of all runs.
func wait(share float64) func([]*cost) float64 {
	return func(list []*cost) float64 {
		var all []time.Duration
		for _, c := range list {
			all = append(all, c.waits...)
		}
		if len(all) == 0 {
			return 0
		}
		slices.Sort(all)
		return all[int(share*float64(len(all)-1))].Seconds()
	}
}
