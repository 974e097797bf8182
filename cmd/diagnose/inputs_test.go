package diagnose_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// inputs returns the cases of testdata/causes.
func inputs(t *testing.T) []cases.Input {
	t.Helper()
	all, err := cases.Inputs("testdata/causes")
	must(t, err)
	return all
}

// diagnose diagnoses the objects; it reports whether a decision can be made.
func (g given) diagnose() (diagnose.Diagnosis, error) {
	var options []decide.Option
	if manager := g.Job.Spec.ManagedBy; manager != nil {
		options = append(options, decide.ManagedBy(*manager))
	}
	d, err := decide.Job(g.Snapshot, options...)
	return diagnose.Of(d, g.Evidence), err
}

// checkCauses checks the first cause of an input, and that it has none that it only resembles.
func checkCauses(t *testing.T, in cases.Input, all []diagnose.Cause) {
	t.Helper()
	first := all[0]
	if got := string(first.Code) + " " + first.Attention.String(); got != in.Want {
		t.Errorf("got %s: %s\nwant %s", got, first.Text, in.Want)
	}
	if in.Whole != "" && first.Text != in.Whole {
		t.Errorf("got the text %q\nwant         %q", first.Text, in.Whole)
	}
	for _, part := range in.Text {
		if !strings.Contains(first.Text, part) {
			t.Errorf("got the text %q, want %q in it", first.Text, part)
		}
	}
	for _, part := range in.Advice {
		if !strings.Contains(first.Advice, part) {
			t.Errorf("got the advice %q, want %q in it", first.Advice, part)
		}
	}
	for _, c := range all {
		if slices.Contains(in.Not, string(c.Code)) {
			t.Errorf("got %s: %s, for which this is a near miss", c.Code, c.Text)
		}
	}
}

// Each input of testdata/causes has its cause first; a near miss does not have the cause that it resembles.
func TestInputs(t *testing.T) {
	for _, in := range inputs(t) {
		t.Run(in.File+"/"+in.Title, func(t *testing.T) {
			g := read(t, in.Documents()...)
			e, err := g.diagnose()
			must(t, err)
			all := e.Causes()
			first := all[0]
			other := diagnose.Unmanaged(g.Job, g.Evidence)
			if got := fmt.Sprintf("%s %s: %s", other.Code, other.Attention, other.Text); in.Unmanaged != "" && got != in.Unmanaged {
				t.Errorf("got, without a decision, %s\nwant %s", got, in.Unmanaged)
			}
			if strings.Contains(in.Unmanaged, "cluster west;") != strings.Contains(other.Advice, "cluster west: explain the Job train there") {
				t.Errorf("got the advice %q", other.Advice)
			}
			if n := len(first.Pods); in.Pods != "" && (n == 0 || in.Pods != strings.Join(slices.Compact([]string{first.Pods[0], first.Pods[n-1]}), ", ")) {
				t.Errorf("got the pods %q, want %s", first.Pods, in.Pods)
			}
			checkTotals(t, g.Job, e.Explanation)
			lines := []string{e.Totals().String(), e.Failures().Line(3)}
			for i, d := range e.FailuresByIndex() {
				lines = append(lines, fmt.Sprintf("index %d: %s", i, d.Line(3)))
			}
			for _, n := range e.Notes() {
				all, lines = append(all, diagnose.Cause{Reason: n}), append(lines, n.Text)
			}
			for _, p := range e.Proposals().Patterns {
				all, lines = append(all, diagnose.Cause{Reason: explain.Reason{Code: p.Code}}), append(lines, string(p.Code)+": "+p.Text, p.Remedy, p.Gain)
			}
			for _, w := range e.Waits() {
				lines = append(lines, w.Text, string(w.Code)+": "+w.Text)
			}
			for n, c := range e.Causes() {
				lines = append(lines, fmt.Sprintf("cause %d: %s", n, c.Code))
			}
			for _, m := range e.Timeline(8) {
				lines = append(lines, fmt.Sprintf("%s %s, %d times at %d", m.Object, m.Reason, m.Count, m.Pods))
			}
			for i := range e.Indexes() {
				lines = append(lines, i.String())
			}
			for n, g := range e.Groups() {
				lines = append(lines, fmt.Sprintf("group %d: %s %s", n, g.Code, g.String()))
			}
			for _, line := range in.Also {
				if !slices.Contains(lines, line) {
					t.Errorf("got the lines %q\nwant %q", lines, line)
				}
			}
			checkCauses(t, in, all)
			if first.Attention == diagnose.AttentionStuck && first.Advice == "" {
				t.Error("the Job is stuck, and there is no advice")
			}
			g.NextRun = nil
			if e, _ := g.diagnose(); strings.Contains(e.Cause().Advice, ", due ") {
				t.Errorf("got the advice %q without NextRun", e.Cause().Advice)
			}
		})
	}
}

// Each row of the table is the first cause of an input, and some input is a near miss for each code. Drastic advice
// names in testdata/drastic.tsv what it requires: without one of these, no input gets it.
func TestInputs_eachRow(t *testing.T) {
	all, missed, requires := inputs(t), map[string]bool{}, drasticAdvice(t)
	var whole []given
	var codes []explain.Code
	for _, in := range all {
		g := read(t, in.Documents()...)
		e, _ := g.diagnose()
		whole, codes = append(whole, g), append(codes, e.Cause().Code)
		for _, code := range in.Not {
			missed[code] = true
		}
		if len(in.Not) > 4 {
			t.Errorf("%s: no input is near to %d causes", in.Title, len(in.Not))
		}
	}
	first := func(g given) bool {
		e, _ := g.diagnose()
		return e.Cause().Attention == diagnose.ChangedAttention
	}
	for i, row := range diagnose.List() {
		// What depends on a caller's memory is in TestCause_own, what needs no decision in unmanaged.yaml.
		if slices.Contains([]explain.Code{explain.JobStale, explain.JobInFlight, "MultiKueue",
			"ManagedElsewhere"}, row.Code) {
			continue
		}
		names := strings.Fields(requires[string(row.Code)+"\t"+row.Means])
		if drastic.MatchString(row.Advice) != (len(names) > 0) {
			t.Errorf("testdata/drastic.tsv says that %s: %s requires %q; the advice is: %s", row.Code, row.Means, names, row.Advice)
		}
		restore, shown := diagnose.ChangeRow(i), false
		for n := range all {
			if codes[n] != row.Code || !first(whole[n]) {
				continue
			}
			shown = true
			for _, name := range names {
				if first(read(t, without(all[n].Documents(), name)...)) {
					t.Errorf("%s/%s: the advice stays without %s: %s", all[n].File, all[n].Title, name, row.Advice)
				}
			}
		}
		restore()
		if !shown {
			t.Errorf("no input shows %s: %s", row.Code, row.Means)
		}
		if !missed[string(row.Code)] {
			t.Errorf("no input is a near miss for %s", row.Code)
		}
	}
}

// drastic matches advice that deletes, forces, recreates or raises.
var drastic = regexp.MustCompile(`(?i)\b(delete|force|raise|create it again|create the Job again)\b`)

// drasticAdvice returns what each drastic advice requires, by code and meaning.
func drasticAdvice(t *testing.T) map[string]string {
	text, err := os.ReadFile("testdata/drastic.tsv")
	must(t, err)
	requires := map[string]string{}
	for line := range strings.Lines(string(text)) {
		i := strings.LastIndex(line, "\t")
		requires[line[:max(0, i)]] = line[i+1:]
	}
	return requires
}

// without returns documents without what a name stands for: the objects of a kind, the events with a reason
// (Event/SystemOOM), or a field of the objects of a kind (Job.status.conditions). "|" is between several.
func without(documents []string, names string) (all []string) {
	for _, document := range documents {
		o, drop := cases.FromYAML(document), false
		for name := range strings.SplitSeq(names, "|") {
			name, reason, ofEvents := strings.Cut(name, "/")
			kind, field, ofField := strings.Cut(name, ".")
			is := o["kind"] == kind && (!ofEvents || o["reason"] == reason)
			drop = drop || is && !ofField
			if is && ofField {
				unstructured.RemoveNestedField(o, strings.Split(field, ".")...)
			}
		}
		text, _ := json.Marshal(o)
		if !drop {
			all = append(all, string(text))
		}
	}
	return all
}
