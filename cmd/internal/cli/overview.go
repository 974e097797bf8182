package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// List explains each Job in one line. If a Job cannot be decided on, it still explains the
// others.
func (x *Explain) List(env Environment, in Objects) (*View, error) {
	v := &View{list: true, notes: in.notes(), unreadable: messages(in.Unreadable)}
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
	for _, r := range v.reports {
		write(&b, "%s: %s: %s\n", p.text(bold, r.Job.Namespace+"/"+r.Job.Name),
			p.text(bold+";"+attentionColors[r.Reason.attention], r.Reason.Code), r.Reason.Text)
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

func needs(others int) string {
	if others == 1 {
		return "1 other Job needs"
	}
	return fmt.Sprintf("%d other Jobs need", others)
}
