package sync

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobfate/jobfate/internal/vectors"
)

// TestVectors checks every case of the folder vectors against the schema there and
// against the real controller, and that each divergence is in some case.
func TestVectors(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vectorsDir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(vectorsDir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var shown []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
			if err == nil {
				err = schema.Validate(value)
			}
			var c vectors.Case
			if err == nil {
				err = json.Unmarshal(lines.Bytes(), &c)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, lines.Bytes())
			}
			reproduce(t, &c)
			shown = append(shown, c.Divergences...)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Concat(divergences(), []string{"FillFreeSlots", "GranularReasons, RuleNames", "BackoffInDoubt", "Throttle"}) {
		if !slices.Contains(shown, name) && !slices.Contains(untold, name) {
			t.Errorf("no case shows the divergence %s", name)
		}
	}
}

// untold are the divergences that cases do not tell: what concerns all of them, and
// snapshots that jobfate refuses.
var untold = []string{"order", "guarded-patches", "impossible-input"}

// reproduce checks that both sides do what the case says, and that it has the features
// that it names.
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
