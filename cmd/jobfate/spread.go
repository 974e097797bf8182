package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/internal/simulation"
)

// spread is the output of simulate with --runs and -o json: fields are added, but
// none is removed or changes its meaning.
type spread struct {
	Job jobRef `json:"job"`
	// Seed is that of the first run.
	Seed uint64 `json:"seed"`
	Runs int    `json:"runs"`
	// The number of runs that ended so.
	Complete  int `json:"complete"`
	Failed    int `json:"failed"`
	Stalled   int `json:"stalled"`
	OutOfTime int `json:"outOfTime"`

	Took    quantiles `json:"seconds"`
	Pods    quantiles `json:"pods"`
	Running quantiles `json:"podSeconds"`

	took, pods, running []float64
}

// quantiles are values of which a part of the runs has no larger one.
type quantiles struct {
	Least  float64 `json:"least"`
	P10    float64 `json:"p10"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Most   float64 `json:"most"`
}

func (s *spread) add(r *simulation.Result) {
	s.Runs++
	switch r.End {
	case simulation.Complete:
		s.Complete++
	case simulation.Failed:
		s.Failed++
	case simulation.Stalled:
		s.Stalled++
	case simulation.OutOfTime:
		s.OutOfTime++
	}
	s.took = append(s.took, r.Took.Seconds())
	s.pods = append(s.pods, float64(r.Totals.Pods))
	s.running = append(s.running, r.Totals.Running.Seconds())
}

// sort works the quantiles out, once all runs are added.
func (s *spread) sort() {
	s.Took, s.Pods, s.Running = quantilesOf(s.took), quantilesOf(s.pods), quantilesOf(s.running)
}

// quantilesOf sorts the values, at least one, and returns their quantiles.
func quantilesOf(values []float64) quantiles {
	slices.Sort(values)
	at := func(percent int) float64 { return values[(len(values)*percent+99)/100-1] }
	return quantiles{values[0], at(10), at(50), at(90), values[len(values)-1]}
}

// text writes the spread for people to read.
func (s spread) text(p paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d complete, %d failed", p.text(bold, count(s.Runs, "run")), s.Complete, s.Failed)
	for _, o := range []struct {
		n    int
		what string
	}{{s.Stalled, "stalled"}, {s.OutOfTime, "out of time"}} {
		if o.n > 0 {
			fmt.Fprintf(&b, ", %d %s", o.n, o.what)
		}
	}
	fmt.Fprintf(&b, "\n\n%-12s %10s %10s %10s %10s %10s\n", "", "least", "10 %", "median", "90 %", "most")
	for _, row := range []struct {
		name string
		q    quantiles
	}{{"seconds", s.Took}, {"pods", s.Pods}, {"pod-seconds", s.Running}} {
		fmt.Fprintf(&b, "%-12s %10.4g %10.4g %10.4g %10.4g %10.4g\n", row.name, row.q.Least, row.q.P10, row.q.Median, row.q.P90, row.q.Most)
	}
	return b.String()
}
