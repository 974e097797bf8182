package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	why "github.com/jobfate/jobfate/explain"
)

// choose keeps only the Job with the wanted name or namespace/name. If wanted is empty it
// keeps all Jobs. No Job may occur twice.
func choose(in *kubefile.Input, wanted string) error {
	first := map[string]kubefile.Place{}
	var chosen []*kubefile.Manifest
	for _, m := range in.Jobs {
		name := m.Job.Namespace + "/" + m.Job.Name
		if at, twice := first[name]; twice {
			return fmt.Errorf("%s is a second Job %s; the first is %s", m.At, m.Job.Name, at)
		}
		first[name] = m.At
		if wanted == m.Job.Name || wanted == name {
			chosen = append(chosen, m)
		}
	}
	switch {
	case wanted == "":
		return nil
	case len(chosen) == 0:
		return fmt.Errorf("no Job %s in the input, which has %s", wanted, someNames(in.Jobs))
	case len(chosen) > 1:
		return fmt.Errorf("the input has %d Jobs named %s; add the namespace, as in --job %s/%s", len(chosen),
			wanted, chosen[0].Job.Namespace, wanted)
	}
	in.Jobs = chosen
	return nil
}

// someNames returns the names of Jobs, at most five.
func someNames(jobs []*kubefile.Manifest) string {
	const most = 5
	names := mapped(jobs,
		func(m *kubefile.Manifest) string { return strings.TrimPrefix(m.Job.Namespace+"/"+m.Job.Name, "/") })
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// overview is the output of explain for several Jobs.
type overview struct {
	// Jobs are ordered: those that need most attention come first.
	Jobs []*report `json:"jobs"`
	// Others is the number of omitted Jobs, which need no attention.
	Others int `json:"others,omitempty"`
	// Unreadable says which parts of the input cannot be read.
	Unreadable []string `json:"unreadable,omitempty"`
}

// List explains each Job in one line of a table. If a Job cannot be decided on, it still explains the
// others.
func (x *Explain) List(env Environment, in Objects) (*View, error) {
	v := &View{list: true, namespaces: in.AllNamespaces, notes: in.notes(), unreadable: messages(in.Unreadable)}
	now, parts, evidence := x.now(env), newPartition(in.Input), in.evidence()
	errs := []error{in.Err()}
	for _, m := range in.Jobs {
		r, err := x.decide(parts.of(m, in), evidence, m, now)
		switch {
		case err != nil:
			errs = append(errs, err)
		case x.Troubled && !x.all && r.Reason.attention == why.AttentionNone:
			v.others++
		default:
			v.reports = append(v.reports, r)
		}
	}
	slices.SortStableFunc(v.reports, func(a, b *report) int {
		return cmp.Or(cmp.Compare(b.Reason.attention, a.Reason.attention),
			cmp.Compare(a.Job.Namespace, b.Job.Namespace), cmp.Compare(a.Job.Name, b.Job.Name))
	})
	if v.err = errors.Join(errs...); v.err != nil && len(v.reports)+v.others == 0 {
		return nil, v.err
	}
	return v, nil
}

// value returns what JSON and YAML print.
func (v *View) value() any {
	if v.list {
		return overview{Jobs: append([]*report{}, v.reports...), Others: v.others, Unreadable: v.unreadable}
	}
	return v.reports[0]
}

// text returns a view as text.
func (v *View) text(p paint, all bool) string {
	var b strings.Builder
	if n := len(v.unreadable); n > 0 {
		write(&b, "%s: %s of the input cannot be read, so this answer may be wrong.\n",
			p.text(yellow, "Incomplete"), count(n, "part"))
	}
	if !v.list {
		b.WriteString(v.reports[0].text(p, all))
		return b.String()
	}
	if len(v.reports) > 0 {
		b.WriteString(v.table(p, all))
	}
	switch {
	case v.others == 0 && len(v.reports) == 0:
		b.WriteString("No Job was found.\n")
	case len(v.reports) == 0:
		write(&b, "No Job needs attention (--all lists %s).\n", count(v.others, "Job"))
	case v.others > 0:
		write(&b, "%s no attention (--all lists them).\n", needs(v.others))
	}
	for _, n := range v.notes {
		write(&b, "%s: %s\n", p.text(yellow, n.Code), n.Text)
	}
	return b.String()
}

// cell is a cell of a table, with its colour.
type cell struct{ color, text string }

// mostCell is the maximum number of characters in a cell, unless --all is given.
const mostCell = 120

// table returns the Jobs in the columns of kubectl get jobs. Cells are escaped before they are measured.
func (v *View) table(p paint, all bool) string {
	rows := [][]cell{nil}
	for _, title := range []string{"NAMESPACE", "NAME", "COMPLETIONS", "DURATION", "AGE", "CAUSE", "MESSAGE"} {
		rows[0] = append(rows[0], cell{"", title})
	}
	for _, r := range v.reports {
		rows = append(rows, []cell{{"", r.Job.Namespace}, {bold, r.Job.Name}, {"", r.completions()},
			{"", r.duration()}, {"", cmp.Or(r.since(r.Created), "<unknown>")},
			{bold + ";" + attentionColors[r.Reason.attention], r.Reason.Code}, {"", r.Reason.Text}})
	}
	first := v.reports[0].Job.Namespace
	if !v.namespaces && !slices.ContainsFunc(v.reports, func(r *report) bool { return r.Job.Namespace != first }) {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			text := inLine(row[i].text)
			if !all {
				text = cutText(text, mostCell)
			}
			row[i].text, widths[i] = text, max(widths[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row[:len(row)-1] {
			b.WriteString(p.text(c.color, c.text))
			fmt.Fprintf(&b, "%*s", widths[i]+3-utf8.RuneCountInString(c.text), "")
		}
		b.WriteString(row[len(row)-1].text + "\n")
	}
	return b.String()
}

func needs(others int) string {
	if others == 1 {
		return "1 other Job needs"
	}
	return fmt.Sprintf("%d other Jobs need", others)
}
