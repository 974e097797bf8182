package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/cmd/internal/console"
	"github.com/jobfate/jobfate/cmd/internal/simulation"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// documents lists the outputs of a command with -o json, each of one of the types.
var documents = []struct {
	command string
	types   []reflect.Type
}{
	{"explain", []reflect.Type{reflect.TypeFor[report](), reflect.TypeFor[overview](), reflect.TypeFor[cronReport]()}},
	{"simulate", []reflect.Type{reflect.TypeFor[timeline](), reflect.TypeFor[comparison](), reflect.TypeFor[spread](),
		reflect.TypeFor[spreadComparison]()}},
	{"validate", []reflect.Type{reflect.TypeFor[verdicts]()}},
}

// inJSON lists the types whose JSON is not that of their Go type.
var inJSON = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage]():   {},
	reflect.TypeFor[simulation.Time]():   {Type: "number"},
	reflect.TypeFor[batchv1.JobStatus](): {Type: "object", Description: "The status of a Job in the API of Kubernetes."},
}

// schemaOf returns the schema of a Go type. A list is never null. With open, objects may have
// fields that the type does not have.
func schemaOf(of reflect.Type, open bool) *jsonschema.Schema {
	s := Must(jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: inJSON}))
	var adapt func(*jsonschema.Schema)
	adapt = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if s.Items != nil {
			s.Type, s.Types = "array", nil
		}
		if open && len(s.Properties) > 0 {
			s.AdditionalProperties = nil
		}
		adapt(s.Items)
		for _, p := range s.Properties {
			adapt(p)
		}
	}
	adapt(s)
	return s
}

// schemaOfCommand returns the schema of the output of a command.
func schemaOfCommand(command string, types []reflect.Type, open bool) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Schema:      "https://json-schema.org/draft/2020-12/schema",
		Title:       "jobfate " + command + " -o json",
		Description: "Fields may be added; none is removed or changes its meaning before a version that may break callers.",
	}
	for _, of := range types {
		s.AnyOf = append(s.AnyOf, schemaOf(of, open))
	}
	return s
}

// The published schemas are those of the Go types. Each output in testdata, and that for each
// input there, conforms to them, and has no field that they do not describe.
func TestSchema(t *testing.T) {
	for _, d := range documents {
		published := schemaOfCommand(d.command, d.types, true)
		text := Must(json.MarshalIndent(published, "", " "))
		file := "../../../docs/schemas/" + d.command + ".json"
		if earlier, err := os.ReadFile(file); err == nil {
			if gone := lost(FromJSON[any](earlier), FromJSON[any](text), ""); gone != nil {
				t.Fatalf("callers rely on %q of %s; remove the file before -update if the next version may break them", gone, file)
			}
		}
		console.Golden(t, file, string(text)+"\n")
		outputs := outputsOf(d.command)
		for _, s := range []*jsonschema.Schema{published, schemaOfCommand(d.command, d.types, false)} {
			r := Must(s.Resolve(nil))
			for name, output := range outputs {
				if err := conforms(r, output); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if len(outputs) < 12 {
				t.Errorf("%s: got %d outputs, want those of testdata", d.command, len(outputs))
			}
			if conforms(r, `{"job": {"namespace": "ns"}}`) == nil {
				t.Errorf("%s: an output without the name of the Job conforms", d.command)
			}
		}
	}
}

// lost returns the paths at which a later schema lacks a field, its type, or that it is required.
// If there are none, an output that conforms to the later schema conforms to the earlier one, too.
func lost(earlier, later any, path string) (out []string) {
	switch was := earlier.(type) {
	case map[string]any:
		is, _ := later.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(was)) {
			if _, text := was[name].(string); name != "description" || !text {
				out = append(out, lost(was[name], is[name], path+"/"+name)...)
			}
		}
		return out
	case []any:
		is, _ := later.([]any)
		for i, value := range was {
			switch {
			case strings.HasSuffix(path, "/required") && slices.Contains(is, value):
			case strings.HasSuffix(path, "/anyOf") && i < len(is):
				out = append(out, lost(value, is[i], fmt.Sprint(path, "/", i))...)
			case !reflect.DeepEqual(was, is): // types
				out = append(out, fmt.Sprint(path, "/", value))
			}
		}
		return out
	}
	if earlier != later {
		out = []string{path}
	}
	return out
}

// TestLost breaks a schema in the ways that callers would notice, and in others.
func TestLost(t *testing.T) {
	const schema = `{"description": "a", "anyOf": [{"type": "object", "properties": {"name": {"type": "string"}, "all": {"type": "array", "items": {"type": ["null", "string"]}}}, "required": ["name", "all"]}]}`
	for _, tc := range []struct {
		reason, old, now string
		want             []string
	}{
		{"nothing", "", "", nil},
		{"another text", `"a"`, `"b"`, nil},
		{"a field more", `"all": {`, `"more": {"type": "integer"}, "all": {`, nil},
		{"it is required", `["name", `, `["more", "name", `, nil},
		{"another kind of output", `]}]}`, `]}, {"type": "string"}]}`, nil},
		{"a field less", `"name": {"type": "string"}, `, "", []string{"/anyOf/0/properties/name/type"}},
		{"it may be missing", `["name", `, `[`, []string{"/anyOf/0/required/name"}},
		{"another type", `"name": {"type": "string"}`, `"name": {"type": "integer"}`, []string{"/anyOf/0/properties/name/type"}},
		{"any type", `"name": {"type": "string"}`, `"name": {}`, []string{"/anyOf/0/properties/name/type"}},
		{"one type more", `["null", "string"]`, `["null", "string", "number"]`, []string{"/anyOf/0/properties/all/items/type/null", "/anyOf/0/properties/all/items/type/string"}},
	} {
		Same(t, tc.reason, lost(FromJSON[any]([]byte(schema)), FromJSON[any]([]byte(strings.Replace(schema, tc.old, tc.now, 1))), ""), tc.want)
	}
}

func conforms(r *jsonschema.Resolved, text string) error {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err
	}
	return r.Validate(value)
}

// outputsOf returns outputs of a command, by their file or input.
func outputsOf(command string) map[string]string {
	texts := map[string]string{}
	for _, file := range console.Files("testdata/*.json") {
		of, _, _ := strings.Cut(filepath.Base(file), "-")
		if of == command || command == "explain" && of != "simulate" && of != "validate" {
			texts[file] = console.Text(file)
		}
	}
	var inputs [][]string
	if command == "explain" {
		inputs = append(inputs, console.Files(samples+"/[a-z]*"))
	}
	for _, file := range console.Files("../../testdata/*/[a-z]*") { // the folders of samples are inputs, too
		inputs = append(inputs, []string{file})
	}
	for _, input := range inputs {
		if got := runWith("", append([]string{command, "-o", "json"}, input...)...); got.Stdout != "" {
			texts[strings.Join(input, " ")] = got.Stdout
		}
	}
	return texts
}
