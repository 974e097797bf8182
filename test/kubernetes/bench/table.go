package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

const header = `| what | jobfate | beside | | ratio | target | met |
| --- | --- | --- | --- | --- | --- | --- |`

// A row is a line of the table.
type row struct {
	what   string
	ours   string
	beside string // the reference
	theirs string
	ratio  string
	target target
	met    bool // meaningless without a target
	// samples lists the numbers whose median the row shows: the time of jobfate as a multiple of the
	// time of the reference, or a count in the unit. A row that only has times has none.
	samples []float64
	unit    string
}

// data returns the samples in the format of Go's benchmarks, which benchstat reads.
func (r row) data() string {
	var b strings.Builder
	name := strings.ReplaceAll(strings.TrimSuffix(r.what+"/beside="+r.beside, "/beside="), " ", "_")
	for _, x := range r.samples {
		fmt.Fprintf(&b, "Benchmark/%s 1 %v %s\n", name, x, cmp.Or(r.unit, "ratio"))
	}
	return b.String()
}

func (r row) String() string {
	goal, met := "–", ""
	if r.target.text != "" {
		goal, met = r.target.text, "**no**"
		if r.met {
			met = "yes"
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", r.what, r.ours, r.beside, r.theirs, r.ratio, goal, met)
}

// A target is a limit of a number. The zero target has no limit.
type target struct {
	text string
	met  func(float64) bool
}

func atMost(limit float64, text string) target {
	return target{text, func(x float64) bool { return x <= limit }}
}

func atLeast(limit float64, text string) target {
	return target{text, func(x float64) bool { return x >= limit }}
}

// with returns the row with a target for the number.
func (r row) with(t target, x float64) row {
	r.target, r.met = t, t.met == nil || t.met(x)
	return r
}

// amount makes a row with a number that is not a time.
func amount(what, unit, format string, x float64, t target) row {
	return row{what: what, ours: fmt.Sprintf(format, x), samples: []float64{x}, unit: unit}.with(t, x)
}

// absolute makes a row with a time, and a target for its nanoseconds. The row has the minimum of the runs, because
// other work on the machine can only make a run longer.
func absolute(what string, least time.Duration, t target) row {
	return row{what: what, ours: span(least)}.with(t, float64(least))
}

// slower makes a row with the time of jobfate as a multiple of the time of the reference.
func slower(r result, ours, theirs int, what, beside string, t target) row {
	x := r.ratio(ours, theirs)
	return row{what: what, ours: span(r.median(ours)), beside: beside, theirs: span(r.median(theirs)),
		ratio: fmt.Sprintf("%.2f ×", x), samples: r.ratios(ours, theirs)}.with(t, x)
}

// faster makes a row with the time of the reference as a multiple of the time of jobfate.
func faster(r result, ours, theirs int, what, beside string, t target) row {
	x := r.ratio(theirs, ours)
	return row{what: what, ours: span(r.median(ours)), beside: beside, theirs: span(r.median(theirs)),
		ratio: fmt.Sprintf("%.3g × faster", x), samples: r.ratios(ours, theirs)}.with(t, x)
}

// span formats a time with three digits.
func span(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// many formats the number of pods and intervals.
func many(n int) string {
	powers := map[int]string{1_000: "10³", 10_000: "10⁴", 100_000: "10⁵", 1_000_000: "10⁶"}
	return cmp.Or(powers[n], fmt.Sprint(n))
}
