package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every function and test that docs/kep-coverage.md names exists, and so does every test in
// the table of departures in docs/divergences.md. No requirement is listed twice under one heading.
// A requirement that is met only in part names its departure, and the test of that departure.
func TestKEPCoverage(t *testing.T) {
	tree := declarations{}
	departures := map[string]string{} // the test of each
	_, text, _ := strings.Cut(readPage(t, "docs/divergences.md"), "## Where Kubernetes departs from the KEPs")
	for _, row := range tableRows(text, 5) {
		departures[row[0]] = row[4]
	}
	for _, table := range []struct {
		page, after   string
		columns       int
		requirement   int // the column of the requirement
		function      int // the column that names functions; -1: none
		test, atLeast int
	}{
		{"docs/kep-coverage.md", "# KEP coverage", 4, 1, 2, 3, 187},
		{"docs/divergences.md", "## Where Kubernetes departs from the KEPs", 5, 2, -1, 4, 18},
	} {
		_, text, _ := strings.Cut(readPage(t, table.page), table.after)
		n := 0
		for heading := range strings.SplitSeq(text, "\n## ") {
			listed := map[string]bool{}
			for _, row := range tableRows(heading, table.columns) {
				n++
				if requirement := row[table.requirement]; listed[requirement] {
					t.Errorf("%s lists %q twice under one heading", table.page, requirement)
				} else {
					listed[requirement] = true
				}
				if table.function >= 0 {
					tree.expect(t, table.page, row[table.function], false)
					if but := exception.FindStringSubmatch(row[table.requirement]); but != nil {
						if test, ok := departures[but[1]]; !ok {
							t.Errorf("docs/divergences.md has no departure %s", but[1])
						} else if !strings.Contains(row[table.test], test) {
							t.Errorf("%s: %q does not name the test %s of that departure", table.page, row[table.requirement], test)
						}
					}
				}
				tree.expect(t, table.page, row[table.test], true)
			}
		}
		if n < table.atLeast {
			t.Errorf("%s: %d rows after %q, want at least %d", table.page, n, table.after, table.atLeast)
		}
	}
}

// tableRows returns the rows of the tables with the given number of columns, without headings.
func tableRows(text string, columns int) (rows [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |\n"), " | ")
		switch {
		case !strings.HasPrefix(line, "|") || len(cells) != columns:
		case cells[0] == "---":
			rows = rows[:len(rows)-1] // the heading
		default:
			rows = append(rows, cells)
		}
	}
	return rows
}

// exception is the end of a requirement that is met only in part.
var exception = regexp.MustCompile("\\bBut `([^`]+)`\\.$")

// The first paragraph of docs/divergences.md counts the kinds of differences, and its list and what
// follows link to every part of the page except the one about tests.
func TestDivergences_parts(t *testing.T) {
	page := readPage(t, "docs/divergences.md")
	intro, rest, _ := strings.Cut(page, "\n## ")
	numbers := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight"}
	if n := strings.Count(intro, "\n- ["); n >= len(numbers) || !strings.Contains(intro, "There are "+numbers[n]+" kinds:") {
		t.Errorf("the page lists %d kinds, and does not say so", n)
	}
	for part := range strings.SplitSeq(rest, "\n## ") {
		title, _, _ := strings.Cut(part, "\n")
		link := "](#" + strings.ReplaceAll(strings.ToLower(title), " ", "-") + ")"
		if title != "How the list is tested" && !strings.Contains(intro, link) {
			t.Errorf("the page does not begin with a link to %q", title)
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// declarations are the names declared in each folder, separately for tests. A method has the name
// Type.Method.
type declarations map[string]map[bool]map[string]bool

// expect reports each name in a cell that is not declared, and cells without a name.
func (d declarations) expect(t *testing.T, page, cell string, inTest bool) {
	t.Helper()
	names := quoted.FindAllStringSubmatch(cell, -1)
	if len(names) == 0 {
		t.Errorf("%s: %q contains no name", page, cell)
	}
	for _, found := range names {
		name := found[1]
		if inTest && strings.HasSuffix(name, ".txt") {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
			continue
		}
		folder, file := path.Split(name)
		pkg, ident, _ := strings.Cut(file, ".")
		dir := path.Join(folder, pkg)
		if dir == "jobfate" {
			dir = "."
		}
		if !d.in(t, dir)[inTest][ident] {
			t.Errorf("%s names %s, which is not declared in the folder %s", page, name, dir)
		}
	}
}

func (d declarations) in(t *testing.T, dir string) map[bool]map[string]bool {
	t.Helper()
	if d[dir] != nil {
		return d[dir]
	}
	d[dir] = map[bool]map[string]bool{false: {}, true: {}}
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			for _, ident := range declared(decl) {
				d[dir][strings.HasSuffix(name, "_test.go")][ident] = true
			}
		}
	}
	return d[dir]
}

// declared returns the names that a declaration declares.
func declared(decl ast.Decl) (names []string) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			return []string{decl.Name.Name}
		}
		receiver := decl.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if of, ok := receiver.(*ast.Ident); ok {
			return []string{of.Name + "." + decl.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
