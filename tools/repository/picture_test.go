package repository

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The pictures in docs/architecture.md show the imports of the modules, and of the packages of the main
// module.
func TestPicture(t *testing.T) {
	sources, _ := read(t)
	pure := map[string]bool{}
	for _, line := range strings.Fields(readPage(t, "tools/lint/deciding.txt")) {
		pure[strings.TrimPrefix(line, "./")] = true
	}
	page, packages := root+"/docs/architecture.md", map[string]map[string]bool{}
	for dir, s := range sources {
		if pure[dir] {
			packages[dir] = s.imports
		}
	}
	golden(t, page, "```mermaid\n%% The modules.\n", "```\n", picture(modulesOf(sources)))
	golden(t, page, "```mermaid\n%% The packages of the main module.\n", "```\n", picture(packages))
}

// modulesOf returns which modules the packages and tests of each module import, by folder.
func modulesOf(sources map[string]*source) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, s := range sources {
		if out[s.module] == nil {
			out[s.module] = map[string]bool{}
		}
		for _, imports := range []map[string]bool{s.imports, s.tests} {
			for to := range imports {
				if of := sources[to]; of != nil && of.module != s.module {
					out[s.module][of.module] = true
				}
			}
		}
	}
	return out
}

// picture draws imports as a Mermaid diagram. It omits an import that others imply.
func picture(imports map[string]map[string]bool) string {
	var b strings.Builder
	dirs := slices.Sorted(maps.Keys(imports))
	b.WriteString("flowchart TD\n")
	for _, dir := range dirs {
		name := dir
		if dir == "." {
			name = "jobfate"
		}
		fmt.Fprintf(&b, "  %s[%q]\n", id(dir), name)
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
	for next := range imports[from] {
		if imports[next][to] || implied(imports, next, to) {
			return true
		}
	}
	return false
}
