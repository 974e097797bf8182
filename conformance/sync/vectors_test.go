package sync

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobfate/jobfate/vectors"
)

// TestVectors checks every case of the folder vectors against the schema and against the real
// controller, except that cases in which a gate is off need a release with the gate. It also checks
// that each divergence has a case.
func TestVectors(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for line, err := range vectors.Lines[vectors.Case](filepath.Join(vectorsDir, "*.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		validate(t, schema, line.File, line.Text)
		if o := line.Case.Options; gated || !o.WithoutPerIndex && !o.WithoutReplacement {
			reproduce(t, line.Case)
		}
		shown = append(shown, line.Case.Divergences...)
	}
	for _, name := range slices.Concat(divergences(), []string{"FillFreeSlots", "GranularReasons, RuleNames", "BackoffInDoubt", "Throttle"}) {
		if !slices.Contains(shown, name) && !slices.Contains(withoutCase, name) {
			t.Errorf("no case shows the divergence %s", name)
		}
	}
}

// TestDialogues checks every dialogue of the folder vectors against the schema. Kubernetes has no
// counterpart of a Machine.
func TestDialogues(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "dialogues", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range vectors.Lines[vectors.Dialogue](filepath.Join(vectorsDir, "dialogues", "*.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		validate(t, schema, line.File, line.Text)
	}
}

func validate(t *testing.T, schema *jsonschema.Schema, file string, line []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", file, err, line)
	}
}

// withoutCase lists the divergences without a case: those that apply to all cases, the one about inputs
// that jobfate rejects, and the one whose fault the format does not have.
var withoutCase = []string{"order", "guarded-patches", "impossible-input", "terminating-namespace"}

// reproduce checks that both sides have the outcomes of the case, and that the case has the features
// that it lists.
func reproduce(t *testing.T, c *vectors.Case) {
	t.Helper()
	again := *c
	if err := answer(&again); err != nil {
		t.Errorf("%s: %v", c.ID, err)
		return
	}
	again.Features = featuresOf(c)
	if diff := cmp.Diff(text(c), text(again)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", c.ID, diff)
	}
}
