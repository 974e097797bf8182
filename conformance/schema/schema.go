// Package schema reads the folders of vectors, and checks them against their schemas.
package schema

import (
	"bytes"
	"iter"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/jobfate/jobfate/vectors"
)

// Lines yields the lines of all files in a folder of vectors. It fails the test at a line that the schema of the
// folder does not allow.
func Lines[T any](t *testing.T, dir string) iter.Seq[vectors.Line[T]] {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(vectors.Line[T]) bool) {
		for line, err := range vectors.Lines[T](filepath.Join(dir, "*.jsonl")) {
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(line.Text))
			if err == nil {
				err = schema.Validate(value)
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", line.File, err, line.Text)
			}
			if !yield(line) {
				return
			}
		}
	}
}
