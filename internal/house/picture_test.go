package house

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// The picture in docs/architecture.md shows the imports.
func TestPicture(t *testing.T) {
	sources, _ := read(t)
	deciding, err := os.ReadFile(root + "/tools/lint/deciding.txt")
	if err != nil {
		t.Fatal(err)
	}
	pure := map[string]bool{}
	for _, line := range strings.Fields(string(deciding)) {
		pure[strings.TrimPrefix(line, "./")] = true
	}
	golden(t, root+"/docs/architecture.md", "```mermaid\n", "```\n", picture(shown(sources), pure))
}

// shown returns the imports of packages, by folder. It contains the public packages and the commands
// of the main module, and the packages that they import.
func shown(sources map[string]*source) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	var add func(dir string)
	add = func(dir string) {
		if s := sources[dir]; s != nil && out[dir] == nil {
			out[dir] = s.imports
			for to := range s.imports {
				add(to)
			}
		}
	}
	for dir, s := range sources {
		if s.public() || strings.HasPrefix(dir, "cmd/") && !s.nested {
			add(dir)
		}
	}
	return out
}

// picture draws imports as a Mermaid diagram. It omits an import that others imply.
func picture(imports map[string]map[string]bool, pure map[string]bool) string {
	var b strings.Builder
	box := func(indent, dir string) {
		name := dir
		if dir == "." {
			name = "jobfate"
		}
		fmt.Fprintf(&b, "%s%s[%q]\n", indent, id(dir), name)
	}
	dirs := slices.Sorted(maps.Keys(imports))
	b.WriteString("flowchart TD\n  subgraph decides [\"pure: no clock, no randomness, no I/O\"]\n")
	for _, dir := range dirs {
		if pure[dir] {
			box("    ", dir)
		}
	}
	b.WriteString("  end\n")
	for _, dir := range dirs {
		if !pure[dir] {
			box("  ", dir)
		}
	}
	for _, from := range dirs {
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			if !implied(imports, from, to) {
				fmt.Fprintf(&b, "  %s --> %s\n", id(from), id(to))
			}
		}
	}
	return b.String()
}

// id returns the name of a folder in the source of the diagram.
func id(dir string) string {
	if dir == "." {
		return "root"
	}
	return strings.NewReplacer("/", "_", "-", "_").Replace(dir)
}

// implied reports whether another import leads to the same package indirectly.
func implied(imports map[string]map[string]bool, from, to string) bool {
	var leads func(from string) bool
	leads = func(from string) bool {
		if imports[from][to] {
			return true
		}
		for next := range imports[from] {
			if leads(next) {
				return true
			}
		}
		return false
	}
	for next := range imports[from] {
		if next != to && leads(next) {
			return true
		}
	}
	return false
}

func TestPicture_draws(t *testing.T) {
	imports := map[string]map[string]bool{
		".":         {"a": true, "b": true, "c/d": true},
		"a":         {"c/d": true},
		"b":         {"a": true},
		"c/d":       nil,
		"cmd/large": {".": true},
	}
	want := `flowchart TD
  subgraph decides ["pure: no clock, no randomness, no I/O"]
    root["jobfate"]
    c_d["c/d"]
  end
  a["a"]
  b["b"]
  cmd_large["cmd/large"]
  root --> b
  a --> c_d
  b --> a
  cmd_large --> root
`
	if got := picture(imports, map[string]bool{".": true, "c/d": true}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
