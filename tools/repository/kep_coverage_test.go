package repository

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every function and test that docs/kep-coverage.tsv names exists, and so does every test in
// docs/kep-departures.tsv. No requirement of a document is listed twice, and
// docs/kep-coverage.md counts them. A requirement that is met only in part names its departure, and
// the test of that departure.
func TestKEPCoverage(t *testing.T) {
	sources, _ := read(t)
	const departed = "docs/kep-departures.tsv"
	departures := map[string]string{} // the test of each
	for _, row := range sheet(t, departed, 5) {
		if departures[row[0]] != "" {
			t.Errorf("%s lists %s twice", departed, row[0])
		}
		departures[row[0]] = row[4]
		expectDeclared(t, sources, departed, true, row[4])
	}
	const coverage, atLeast, departuresAtLeast = "docs/kep-coverage.tsv", 187, 18
	if len(departures) < departuresAtLeast {
		t.Errorf("%s: %d departures, want at least %d", departed, len(departures), departuresAtLeast)
	}
	listed, counts, inPart := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, cells := range sheet(t, coverage, 6) {
		document, section, requirement, departure := cells[0], cells[1], cells[2], cells[3]
		functions, tests := strings.Split(cells[4], ", "), strings.Split(cells[5], ", ")
		if listed[document+requirement] || section == "" {
			t.Errorf("%s lists %q twice, or without a section", coverage, requirement)
		}
		listed[document+requirement] = true
		counts[document]++
		expectDeclared(t, sources, coverage, false, functions...)
		expectDeclared(t, sources, coverage, true, tests...)
		if departure == "" {
			continue
		}
		inPart[document]++
		if test, ok := departures[departure]; !ok {
			t.Errorf("%s has no departure %s", departed, departure)
		} else if !slices.Contains(tests, test) {
			t.Errorf("%s: %q does not name the test %s of that departure", coverage, requirement, test)
		}
	}
	if len(listed) < atLeast {
		t.Errorf("%s: %d rows, want at least %d", coverage, len(listed), atLeast)
	}
	page := readPage(t, "docs/kep-coverage.md")
	for document, n := range counts {
		if row := fmt.Sprintf("| %s | %d | %d |\n", document, n, inPart[document]); !strings.Contains(page, row) {
			t.Errorf("docs/kep-coverage.md lacks the row %s", row)
		}
	}
}

// sheet returns the rows of a .tsv file without the heading.
func sheet(t *testing.T, file string, columns int) (rows [][]string) {
	t.Helper()
	_, text, _ := strings.Cut(readPage(t, file), "\n")
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != columns {
			t.Fatalf("%s: %d columns, want %d: %s", file, len(cells), columns, line)
		}
		rows = append(rows, cells)
	}
	return rows
}

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

// expectDeclared reports each name of a page that is not declared.
func expectDeclared(t *testing.T, sources map[string]*source, page string, inTest bool, names ...string) {
	t.Helper()
	for _, name := range names {
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
		if s := sources[dir]; s == nil || !s.declared[inTest][ident] {
			t.Errorf("%s names %s, which is not declared in the folder %s", page, name, dir)
		}
	}
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
