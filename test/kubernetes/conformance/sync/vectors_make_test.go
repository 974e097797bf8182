package sync

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/vectors"
)

var makeVectors = flag.Bool("vectors", false, "rewrite the files of the folder test/vectors")

const vectorsDir = "../../../vectors"

// TestMakeVectors rewrites the files of the folder test/vectors. It needs the flag -vectors. It runs both sides on the
// input of each case again, and adds the divergences that no case shows. To add a case, append a line with its
// snapshot to any of the files.
func TestMakeVectors(t *testing.T) {
	if !*makeVectors {
		t.Skip("only with -vectors")
	}
	files, seen, shown := map[string][]vectors.Line{}, map[string]bool{}, map[string]bool{}
	add := func(line vectors.Line, err error) {
		NoError(t, err)
		if !seen[line.Case.ID] {
			seen[line.Case.ID] = true
			files[line.File] = append(files[line.File], line)
		}
		for _, name := range line.Case.Divergences {
			shown[name] = true
		}
	}
	for line, err := range vectors.Lines(vectorsDir) {
		if err == nil && answers(line.Case) {
			line, err = made(line.Text)
		}
		add(line, err)
	}
	for _, d := range divergent() {
		if !shown[d.name] && !slices.Contains(withoutCase, d.name) {
			add(made([]byte(text(caseOf(d.trial)))))
		}
	}
	for _, g := range groups {
		var all []byte
		lines := files[g.file()]
		slices.SortFunc(lines, func(a, b vectors.Line) int {
			return cmp.Or(cmp.Compare(len(a.Text), len(b.Text)), strings.Compare(a.Case.ID, b.Case.ID))
		})
		for _, line := range lines {
			all = append(append(all, line.Text...), '\n')
		}
		NoError(t, os.WriteFile(filepath.Join(vectorsDir, g.file()), all, 0o644))
	}
}

// answers reports whether the compared release can run a case. A case with a gate off needs one that has the gate, and
// that of a divergence one that has the divergence.
func answers(c *vectors.Case) bool {
	return (gated || !c.Options.WithoutPerIndex && !c.Options.WithoutReplacement) && !slices.ContainsFunc(c.Divergences, hasEnded)
}

// made returns the case with the input of a text, and its line in a file. The input stays as it is: fields that are
// absent do not appear.
func made(text []byte) (line vectors.Line, err error) {
	line.Case = new(vectors.Case)
	if err := json.Unmarshal(text, line.Case); err != nil {
		return line, err
	}
	c := line.Case
	if err := answer(c); err != nil {
		return line, fmt.Errorf("%w\n%s", err, text)
	}
	given, err := treeOf(text)
	if err != nil {
		return line, err
	}
	var input []byte
	parts := []string{"snapshot", "options", "faults"}
	for _, part := range parts {
		input = append(input, jsonOf(given[part])...)
	}
	g := groups[slices.IndexFunc(groups, func(g group) bool { return g.in(c) })]
	c.ID, c.Features, line.File = fmt.Sprintf("%s-%.4x", g.name, sha256.Sum256(input)), featuresOf(c), g.file()
	full, err := treeOf(jsonOf(c))
	for _, part := range parts {
		delete(full, part)
		if given[part] != nil {
			full[part] = given[part]
		}
	}
	line.Text = jsonOf(full)
	return line, err
}

func jsonOf(v any) []byte { return []byte(text(v)) }

// treeOf decodes a JSON object, and keeps its numbers as they are.
func treeOf(text []byte) (tree map[string]any, err error) {
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	return tree, numbers.Decode(&tree)
}

// featuresOf returns the names of the features of a case.
func featuresOf(c *vectors.Case) []string {
	if c.Refused != "" {
		return []string{c.Refused}
	}
	return traitsOf(trialOf(c))
}

type group struct {
	name string
	in   func(*vectors.Case) bool
}

func (g group) file() string { return g.name + ".jsonl" }

// groups lists the files. A case belongs to the first group that matches.
var groups = []group{
	{"refused", func(c *vectors.Case) bool { return c.Refused != "" }},
	{"options", func(c *vectors.Case) bool { return len(extras(c)) > 0 }},
	{"divergences", func(c *vectors.Case) bool { return len(c.Divergences) > 0 }},
	{"faults", func(c *vectors.Case) bool { return text(c.Faults) != "{}" }},
	{"pending", func(c *vectors.Case) bool { return text(c.Snapshot.Pending) != "{}" }},
	{"ending", func(c *vectors.Case) bool { return len(c.Snapshot.Job.Status.Conditions) > 0 }},
	{"failure-policy", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.PodFailurePolicy != nil }},
	{"success-policy", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.SuccessPolicy != nil }},
	{"per-index", func(c *vectors.Case) bool { return c.Snapshot.Job.Spec.BackoffLimitPerIndex != nil }},
	{"indexed", func(c *vectors.Case) bool { return indexed(c.Snapshot.Job) }},
	{"plain", func(*vectors.Case) bool { return true }},
}
