package repository

import (
	"bytes"
	"cmp"
	"fmt"
	"go/token"
	"maps"
	"os"
	"regexp"
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

// The table in docs/architecture.md says what an import of a public package of the main module brings, in
// hundreds of lines. These limits keep some of them small.
func TestImports(t *testing.T) {
	limits := map[string]struct{ packages, lines int }{
		"indexset": {2, 600}, "jobstatus": {3, 1_000}, "backoff": {1, 300}, "failurepolicy": {1, 1_500},
		"tracking": {4, 1_000}, "tracking/counting": {8, 2_500}, "validation": {2, 1_500}, "group": {2, 2_000},
		"machine": {12, 6_700},
	}
	sources, fset := read(t)
	imports, lines := map[string]map[string]bool{}, map[string]int{}
	for dir, s := range sources {
		if s.module == "." {
			imports[dir], lines[dir] = s.imports, codeLines(t, fset, s)
		}
	}
	rows := map[string]int{} // with their lines of code
	for dir := range imports {
		if !sources[dir].public() || dir == "." {
			continue
		}
		packages, n := 1, lines[dir]
		for to := range imports {
			if imports[dir][to] || implied(imports, dir, to) {
				packages, n = packages+1, n+lines[to]
			}
		}
		if most, ok := limits[dir]; ok && (packages > most.packages || n > most.lines) {
			t.Errorf("%s brings %d packages and %d lines of code, want at most %v", dir, packages, n, most)
		}
		rows[fmt.Sprintf("| `%s` | %d | %d |", dir, packages, (n+50)/100*100)] = n
	}
	inOrder := slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Compare(rows[a], rows[b]) })
	golden(t, root+"/docs/architecture.md", "| --- | ---: | ---: |\n", "\n\n", strings.Join(inOrder, "\n"))
}

var noCode = regexp.MustCompile(`^\s*(//.*)?\s*$`)

// codeLines returns the number of lines of a package, without tests, that are neither empty nor only a comment.
func codeLines(t *testing.T, fset *token.FileSet, s *source) (n int) {
	for _, file := range s.files {
		for line := range bytes.Lines(must(os.ReadFile(fset.Position(file.Pos()).Filename))) {
			if !noCode.Match(line) {
				n++
			}
		}
	}
	return n
}
