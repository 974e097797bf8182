package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestDocumentation takes the documentation of a package away, bit by bit.
func TestDocumentation(t *testing.T) {
	good := map[string]string{
		"backoff/x.go": `// Package backoff is a package.
package backoff

// A T is a type.
type T struct{}

// Get gets.
func (t *T) Get() {}

func (t *T) hidden() {}

type hidden struct{}

func (hidden) Get() {}

// V is a variable.
var V = 1

// The constants.
const (
	A = 1
	B = 2
)
`,
		"backoff/x_test.go": "package backoff\n\nfunc Example() {\n\tprintln()\n\t// Output: x\n}\n",
	}
	for _, tc := range []struct{ reason, old, new, want string }{
		{"it has all", "", "", ""},
		{"no overview", "// Package backoff is a package.\n", "", "backoff/x.go:1: documentation: package backoff has no overview"},
		{"a type", "// A T is", "// It is", "backoff/x.go:5: documentation: T has no comment that begins with its name"},
		{"a method", "// Get gets.\n", "", "backoff/x.go:7: documentation: Get has no comment"},
		{"a variable", "// V is a variable.\n", "", "backoff/x.go:16: documentation: V has no comment"},
		{"a group of constants", "// The constants.\nconst (\n\tA", "const (\n\tA", "backoff/x.go:20: documentation: A has no comment"},
		{"no example", "func Example()", "func example()", "backoff/x.go:2: documentation: package backoff has no Example with an output"},
		{"an example without output", "Output:", "output is", "backoff/x.go:2: documentation: package backoff has no Example with an output"},
	} {
		files := maps.Clone(good)
		for name, text := range files {
			files[name] = strings.Replace(text, tc.old, tc.new, 1)
		}
		got := checkFor(t, files, func(rule string) bool { return rule == documentation })
		if tc.want == "" && len(got) > 0 || tc.want != "" && !slices.ContainsFunc(got, func(f string) bool { return strings.HasPrefix(f, tc.want) }) {
			t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
		}
	}
	for _, dir := range []string{"internal/kubefile", "cmd/jobfate"} {
		name := "main"
		if strings.HasPrefix(dir, "internal/") {
			name = "kubefile"
		}
		files := map[string]string{dir + "/x.go": "// It has an overview.\npackage " + name + "\n"}
		if got := checkFor(t, files, func(rule string) bool { return rule == documentation }); len(got) > 0 {
			t.Errorf("%s needs no example: got %q", dir, got)
		}
	}
}
