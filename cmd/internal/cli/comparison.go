package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
	"github.com/jobfate/jobfate/indexset"
)

// comparison is the output of simulate with --against and -o json: fields may be added, but
// none is removed or changes its meaning.
type comparison struct {
	// Runs lists the runs of the two Jobs.
	Runs []timeline `json:"runs"`
	// Indexes lists the indexes whose outcomes differ, if both Jobs are Indexed.
	Indexes []indexComparison `json:"indexes"`
}

// indexComparison holds the outcomes of an index in both Jobs.
type indexComparison struct {
	Index    int32          `json:"index"`
	Outcomes []indexOutcome `json:"outcomes"`
}

// indexOutcome is the outcome of an index.
type indexOutcome struct {
	// Outcome is Succeeded, Failed, Unfinished, or None if the Job has no such index.
	Outcome string `json:"outcome"`
	// Ended is the time when the last pod of the index ended; absent if a pod has not ended.
	Ended   *simulation.Time `json:"ended,omitempty"`
	Pods    int              `json:"pods"`
	Running simulation.Time  `json:"podSeconds"`
}

func newComparison(runs []timeline) comparison {
	v := comparison{Runs: runs, Indexes: []indexComparison{}}
	if !runs[0].indexed || !runs[1].indexed {
		return v
	}
	a, b := outcomesOf(runs[0]), outcomesOf(runs[1])
	for i := range max(len(a), len(b)) {
		x, y := runs[0].outcomeAt(a, i), runs[1].outcomeAt(b, i)
		if x.String() != y.String() || x.Running != y.Running {
			v.Indexes = append(v.Indexes, indexComparison{int32(i), []indexOutcome{x, y}})
		}
	}
	return v
}

// outcomeAt returns the outcome of an index, which may have no pods or not exist.
func (t timeline) outcomeAt(outcomes []indexOutcome, i int) indexOutcome {
	switch {
	case i < len(outcomes):
		return outcomes[i]
	case i < int(t.Completions):
		return indexOutcome{Outcome: string(simulation.PodUnfinished)}
	}
	return indexOutcome{Outcome: "None"}
}

// outcomesOf returns the outcomes of the indexes, up to the last index that had a pod.
func outcomesOf(t timeline) []indexOutcome {
	completed, _ := indexset.Parse(t.Status.CompletedIndexes) // the simulated API server has validated it
	failed, _ := indexset.Parse(*cmp.Or(t.Status.FailedIndexes, new("")))
	var out []indexOutcome
	for _, lane := range t.Lanes {
		for len(out) <= int(lane.Index) {
			out = append(out, indexOutcome{Outcome: string(simulation.PodUnfinished)})
		}
		f := &out[lane.Index]
		switch {
		case completed.Contains(lane.Index):
			f.Outcome = string(simulation.PodSucceeded)
		case failed.Contains(lane.Index):
			f.Outcome = string(simulation.PodFailed)
		}
		f.Pods = len(lane.Pods)
		var last simulation.Time
		ended := 0
		for _, pod := range lane.Pods {
			f.Running += pod.Ran(t.Took)
			if pod.Ended != nil {
				last = max(last, *pod.Ended)
				ended++
			}
		}
		if ended > 0 && ended == f.Pods {
			f.Ended = &last
		}
	}
	return out
}

func (f indexOutcome) String() string {
	if f.Outcome == "None" {
		return "no such index"
	}
	text := strings.ToLower(f.Outcome)
	if f.Ended != nil && f.Outcome != string(simulation.PodUnfinished) {
		text += " at " + f.Ended.String()
	}
	return text + ", " + podCount(f.Pods)
}

// text returns the comparison as text.
func (v comparison) text(p paint, full bool) string {
	first, second := v.Runs[0].name, v.Runs[1].name
	totals := [][]string{{"", first, second}}
	for _, row := range []struct {
		name string
		of   func(timeline) string
	}{
		{"outcome", func(t timeline) string { return strings.TrimSpace(string(t.End) + " " + t.Reason) }},
		{"time", func(t timeline) string { return t.Took.String() }},
		{"pods", func(t timeline) string { return fmt.Sprint(t.Totals.Pods) }},
		{"  ended", timeline.outcomes},
		{"pod time", func(t timeline) string { return t.Totals.Running.String() }},
	} {
		totals = append(totals, []string{row.name, row.of(v.Runs[0]), row.of(v.Runs[1])})
	}
	var b strings.Builder
	writeTable(&b, p, totals)
	switch {
	case !v.Runs[0].indexed || !v.Runs[1].indexed:
		return b.String()
	case len(v.Indexes) == 0:
		b.WriteString("\nNo index differs.\n")
		return b.String()
	}
	rows := [][]string{{"index", first, second}}
	most := len(v.Indexes)
	if !full {
		most = min(mostLines, most)
	}
	for _, c := range v.Indexes[:most] {
		rows = append(rows, []string{fmt.Sprint(c.Index), c.Outcomes[0].String(), c.Outcomes[1].String()})
	}
	fmt.Fprintf(&b, "\n%s\n", p.text(bold, "Indexes that differ:"))
	writeTable(&b, p, rows)
	if more := len(v.Indexes) - most; more > 0 {
		fmt.Fprintf(&b, "and %d more (--full shows them)\n", more)
	}
	return b.String()
}

// writeTable writes rows of cells. The first row is the header.
func writeTable(b *strings.Builder, p paint, rows [][]string) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(mapped(row, inLine), "\t"), " "))
	}
	_ = w.Flush() // a Builder takes everything
	header, rest, _ := strings.Cut(table.String(), "\n")
	b.WriteString(p.text(bold, header) + "\n" + rest)
}

// spreadComparison is the output of simulate with --against, --runs and -o json.
type spreadComparison struct {
	Spreads []spread `json:"spreads"`
	// Completed counts the pairs of runs by which of the two Jobs completed.
	Completed pairs `json:"completed"`
}

// pairs counts pairs of runs with the same random values.
type pairs struct {
	Both       int `json:"both"`
	OnlyFirst  int `json:"onlyFirst"`
	OnlySecond int `json:"onlySecond"`
	Neither    int `json:"neither"`
}

func (p *pairs) add(runs []timeline) {
	first, last := runs[0].End == simulation.Complete, runs[len(runs)-1].End == simulation.Complete
	switch {
	case first && last:
		p.Both++
	case first:
		p.OnlyFirst++
	case last:
		p.OnlySecond++
	default:
		p.Neither++
	}
}

// text returns both spreads as text, each quantity with one line for each Job.
func (v spreadComparison) text(p paint) string {
	var b strings.Builder
	names := [2]string{inLine(v.Spreads[0].name), inLine(v.Spreads[1].name)}
	width := max(utf8.RuneCountInString(names[0]), utf8.RuneCountInString(names[1]), len("pod time")) + 2
	fmt.Fprintf(&b, "%s each, with the same random values\n\n", p.text(bold, v.Spreads[0].counted()))
	for i, s := range v.Spreads {
		fmt.Fprintf(&b, "%-*s%s\n", width, names[i], s.ends())
	}
	fmt.Fprintf(&b, "\nComplete with both: %d, only with %s: %d, only with %s: %d, with neither: %d.\n",
		v.Completed.Both, names[0], v.Completed.OnlyFirst, names[1], v.Completed.OnlySecond, v.Completed.Neither)
	for _, row := range spreadRows {
		b.WriteString("\n" + p.text(bold, fmt.Sprintf("%-*s", width, row.name)) + quantileHeader)
		for i := range v.Spreads {
			fmt.Fprintf(&b, "%-*s%s", width, names[i], row.of(&v.Spreads[i]).line(row.show))
		}
	}
	return b.String()
}
