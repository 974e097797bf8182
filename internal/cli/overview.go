package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/internal/kubefile"
)

// choose leaves the Jobs of the input that --job names. No Job may be there twice.
func (req request) choose(in *kubefile.Input) error {
	first := map[string]kubefile.Place{}
	var chosen []*kubefile.Manifest
	for _, m := range in.Jobs {
		name := m.Job.Namespace + "/" + m.Job.Name
		if at, twice := first[name]; twice {
			return fmt.Errorf("%s is a second Job %s; the first is %s", m.At, m.Job.Name, at)
		}
		first[name] = m.At
		if req.job == m.Job.Name || req.job == name {
			chosen = append(chosen, m)
		}
	}
	switch {
	case req.job == "":
		return nil
	case len(chosen) == 0:
		return fmt.Errorf("there is no Job %s in the input, which has %s", req.job, count(len(in.Jobs), "Job"))
	case len(chosen) > 1:
		return fmt.Errorf("there are %d Jobs %s in the input; want a namespace, as in --job %s/%s", len(chosen), req.job, chosen[0].Job.Namespace, req.job)
	}
	in.Jobs = chosen
	return nil
}

// overview is what explain says of several Jobs.
type overview struct {
	// Jobs are in the order of the attention that they need.
	Jobs []*report `json:"jobs"`
}

// overview decides on each Job, and prints a line for each.
func (req request) overview(env Environment, in *kubefile.Input) error {
	var all overview
	var errs []error
	for _, m := range in.Jobs {
		r, err := decide(in, m, req)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all.Jobs = append(all.Jobs, r)
	}
	slices.SortStableFunc(all.Jobs, func(a, b *report) int {
		return cmp.Or(cmp.Compare(b.Reason.attention, a.Reason.attention), cmp.Compare(a.Job.Namespace, b.Job.Namespace), cmp.Compare(a.Job.Name, b.Job.Name))
	})
	if len(all.Jobs) == 0 {
		return errors.Join(errs...)
	}
	if err := req.print(env, all, func(p paint) string { return all.text(p, in) }); err != nil {
		return err
	}
	return cmp.Or(errors.Join(errs...), req.statusOf(all.Jobs[0].Reason.attention))
}

func (all overview) text(p paint, in *kubefile.Input) string {
	var b strings.Builder
	for _, r := range all.Jobs {
		fmt.Fprintf(&b, "%s: %s: %s\n", p.text(bold, r.Job.Namespace+"/"+r.Job.Name), p.text(bold+";"+attentionColors[r.Reason.attention], r.Reason.Code), r.Reason.Text)
	}
	for _, n := range skippedNotes(in) {
		fmt.Fprintf(&b, "%s: %s\n", p.text(yellow, n.Code), n.Text)
	}
	return b.String()
}

// skippedNotes returns what of the input was not looked at.
func skippedNotes(in *kubefile.Input) (out []note) {
	if len(in.Skipped) > 0 {
		out = append(out, note{"OtherKinds", "objects of other kinds were skipped: " + in.Skipped.String()})
	}
	return out
}
