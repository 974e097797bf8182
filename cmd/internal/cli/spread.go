package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// spread is the output of simulate with --runs and -o json: fields may be added, but none is
// removed or changes its meaning.
type spread struct {
	titled
	// Assumed says what was assumed without a scenario.
	Assumed string `json:"assumed,omitempty"`
	// Seed is the seed of the first run.
	Seed uint64 `json:"seed"`
	Runs int    `json:"runs"`
	// Interrupted says that Runs is less than the number requested.
	Interrupted bool `json:"interrupted,omitempty"`
	// The numbers of runs by how they ended.
	Complete  int `json:"complete"`
	Failed    int `json:"failed"`
	Stalled   int `json:"stalled"`
	OutOfTime int `json:"outOfTime"`

	Took    quantiles `json:"seconds"`
	Pods    quantiles `json:"pods"`
	Running quantiles `json:"podSeconds"`

	took, pods, running []float64
	wanted              int // runs
}

// quantiles are values that a given part of the runs does not exceed.
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

// finish computes the quantiles after the last run was added.
func (s *spread) finish(wanted int) {
	s.Interrupted, s.wanted = s.Runs < wanted, wanted
	s.Took, s.Pods, s.Running = quantilesOf(s.took), quantilesOf(s.pods), quantilesOf(s.running)
}

// quantilesOf sorts the values, of which there is at least one, and returns their quantiles.
func quantilesOf(values []float64) quantiles {
	slices.Sort(values)
	at := func(percent int) float64 { return values[(len(values)*percent+99)/100-1] }
	return quantiles{values[0], at(10), at(50), at(90), values[len(values)-1]}
}

// text returns the spread as text.
func (s spread) text(p paint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%-12s%s", p.text(bold, s.counted()), s.ends(), "", quantileHeader)
	for _, row := range spreadRows {
		fmt.Fprintf(&b, "%-12s%s", row.name, row.of(&s).line(row.show))
	}
	return b.String()
}

// counted says how many runs there were.
func (s spread) counted() string {
	if s.Interrupted {
		return fmt.Sprintf("Interrupted after %d of %d runs", s.Runs, s.wanted)
	}
	return count(s.Runs, "run")
}

// ends says how the runs ended.
func (s spread) ends() string {
	text := fmt.Sprintf("%d complete, %d failed", s.Complete, s.Failed)
	for _, o := range []struct {
		n    int
		what string
	}{{s.Stalled, "stalled"}, {s.OutOfTime, "out of time"}} {
		if o.n > 0 {
			text += fmt.Sprintf(", %d %s", o.n, o.what)
		}
	}
	return text
}

// spreadRows lists the quantities in which the runs differ.
var spreadRows = []struct {
	name string
	of   func(*spread) quantiles
	show func(float64) string
}{
	{"time", func(s *spread) quantiles { return s.Took }, inSeconds},
	{"pods", func(s *spread) quantiles { return s.Pods }, func(n float64) string { return strconv.Itoa(int(n)) }},
	{"pod time", func(s *spread) quantiles { return s.Running }, inSeconds},
}

// inSeconds renders seconds as a duration, below an hour with a tenth of a second.
func inSeconds(s float64) string {
	d := time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond)
	if d >= time.Hour {
		d = d.Round(time.Second)
	}
	return simulation.Time(d).String()
}

var quantileHeader = fmt.Sprintf(" %10s %10s %10s %10s %10s\n", "least", "10 %", "median", "90 %", "most")

// line returns the line below the header.
func (q quantiles) line(show func(float64) string) string {
	return fmt.Sprintf(" %10s %10s %10s %10s %10s\n", show(q.Least), show(q.P10), show(q.Median), show(q.P90),
		show(q.Most))
}
