package diagnose_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/decide"
)

// oddValues take the place of fields.
var oddValues = []any{nil, "", "\x1b[31m{}\n", float64(-1), true, []any{}, []any{nil, map[string]any{}}, map[string]any{"a": nil}}

// damaged yields copies of a value, in each of which one field is another value: the nth.
func damaged(value any, n *int, yield func(any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			other := maps.Clone(value)
			other[name] = oddValues[*n%len(oddValues)]
			yield(other)
			*n++
			damaged(value[name], n, func(inner any) {
				other := maps.Clone(value)
				other[name] = inner
				yield(other)
			})
		}
	case []any:
		for i := range value {
			damaged(value[i], n, func(inner any) {
				other := slices.Clone(value)
				other[i] = inner
				yield(other)
			})
		}
	}
}

// With any value in any field of an object, there is an explanation, and no input is changed. Objects that do not
// fit the types of the API are left out, as clients do.
func TestInputs_damaged(t *testing.T) {
	explained, n, seen := 0, 0, map[string]bool{}
	for _, in := range inputs(t) {
		documents := in.Documents()
		for i, document := range documents {
			if seen[document] {
				continue
			}
			seen[document] = true
			damaged(any(cases.FromYAML(document)), &n, func(other any) {
				text, err := json.Marshal(other)
				must(t, err)
				g := given{Snapshot: decide.Snapshot{Now: now}}
				for j, document := range documents {
					if j == i {
						document = string(text)
					}
					if err := g.add(document); err != nil {
						return
					}
				}
				if g.Job != nil && explainAll(t, in, g) {
					explained++
				}
			})
		}
	}
	if explained < 2_000 {
		t.Errorf("only %d damaged inputs were explained", explained)
	}
}

// explainAll calls each method of the explanation; it reports whether there is one.
func explainAll(t *testing.T, in cases.Input, g given) bool {
	t.Helper()
	before, err := json.Marshal(g.Evidence.Objects)
	must(t, err)
	e, err := g.diagnose()
	if err != nil {
		return false
	}
	e.Causes()
	e.Groups()
	e.Totals()
	e.Waits()
	e.Notes()
	e.Prospect()
	e.LastFailure()
	e.Failures()
	e.FailuresByIndex()
	e.Proposals()
	first := e.Timeline(8)
	if diff := gocmp.Diff(first, e.Timeline(8)); diff != "" {
		t.Errorf("%s: %s: the second timeline differs: %s", in.File, in.Title, diff)
	}
	_ = slices.Collect(e.Indexes())
	after, err := json.Marshal(g.Evidence.Objects)
	must(t, err)
	if diff := gocmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("%s: %s: the evidence was changed: %s", in.File, in.Title, diff)
	}
	return true
}
