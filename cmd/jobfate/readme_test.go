package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme keeps what README.md shows true: what explain says of a sample, and
// the example of the root package, whose test checks it.
func TestReadme(t *testing.T) {
	readme := readFile(t, "../../README.md")
	code, output := exampleDecide(t)
	for what, want := range map[string]string{
		"the command":             "explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "/*\n",
		"what the command prints": "```\n" + readFile(t, filepath.Join("testdata", goldens[0].name+".txt")) + "```\n",
		"the example":             "```go\n" + code + "```\n",
		"what the example prints": "```\n" + output + "```\n",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not have %s:\n%s", what, want)
		}
	}
}

// exampleDecide returns the body of ExampleDecide and its output.
func exampleDecide(t *testing.T) (code, output string) {
	t.Helper()
	_, rest, found := strings.Cut(readFile(t, "../../example_test.go"), "\nfunc ExampleDecide() {\n")
	body, _, ends := strings.Cut(rest, "\n}\n")
	code, output, prints := strings.Cut("\n"+body+"\n", "\n\t// Output:\n")
	if !found || !ends || !prints {
		t.Fatal("example_test.go has no ExampleDecide with an output")
	}
	code = strings.ReplaceAll(code+"\n", "\n\t", "\n")
	return strings.TrimPrefix(code, "\n"), strings.ReplaceAll("\n"+output, "\n\t// ", "\n")[1:]
}
