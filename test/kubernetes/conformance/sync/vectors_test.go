package sync

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/test/vectors"
)

// TestVectors checks every case of the folder test/vectors against the schema, and that make vectors would write the same:
// both sides still have the outcomes of the case. It also checks that each divergence has a case.
func TestVectors(t *testing.T) {
	schema := Must(jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json")))
	var shown []string
	for line, err := range vectors.Lines(vectorsDir) {
		NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line.Text))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", line.File, err, line.Text)
		}
		if answers(line.Case) {
			reproduce(t, line)
		}
		shown = append(shown, line.Case.Divergences...)
	}
	for _, name := range slices.Concat(divergences(), []string{"FillFreeSlots", "GranularReasons, RuleNames", "BackoffInDoubt", "Throttle"}) {
		if !slices.Contains(shown, name) && !slices.Contains(withoutCase, name) {
			t.Errorf("no case shows the divergence %s", name)
		}
	}
}

// withoutCase lists the divergences without a case: those with a test of their own, and the one whose
// fault the format does not have.
var withoutCase = append(slices.Clone(apart), "terminating-namespace")

// reproduce checks that a line is what its input makes.
func reproduce(t *testing.T, line vectors.Line) {
	t.Helper()
	again, err := made(line.Text)
	if err != nil {
		t.Errorf("%s: %v", line.Case.ID, err)
		return
	}
	inFile := func(l vectors.Line) string { return l.File + ": " + string(l.Text) }
	if diff := cmp.Diff(inFile(line), inFile(again)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", line.Case.ID, diff)
	}
}
