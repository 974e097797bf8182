package replace_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// docs/replace.md shows these files, without the imports.
func TestDocument(t *testing.T) {
	document := readFile(t, "../../docs/replace.md")
	for _, path := range []string{"reclaim.go", "finished.go", "ready.go", "status.go"} {
		_, code, _ := strings.Cut(readFile(t, path), "\n)\n")
		if !strings.Contains(document, "```go\n"+strings.Trim(code, "\n")+"\n```\n") {
			t.Errorf("docs/replace.md does not show %s as it is", path)
		}
	}
}

// The second table of docs/replace.md has the classes of test/adopters, and the functions
// that each class is about.
func TestClasses(t *testing.T) {
	compared := map[string][]string{} // the functions of each class
	files, err := filepath.Glob("../../test/adopters/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^\t\t\tName: +"([^"]+)"|{Name: +"([^"]+)"|(adopters\.Contradictory)`)
	for _, file := range append(files, "../../test/adopters/functions_test.go") {
		function := ""
		for _, found := range name.FindAllStringSubmatch(readFile(t, file), -1) {
			switch class := found[2]; {
			case found[1] != "":
				function = found[1]
			case found[3] != "":
				compared["contradictory conditions"] = append(compared["contradictory conditions"], function)
			default:
				compared[class] = append(compared[class], function)
			}
		}
	}
	_, table, _ := strings.Cut(readFile(t, "../../docs/replace.md"), "\n| class | function | the difference |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	described := map[string][]string{}
	for _, row := range strings.Split(table, "\n") {
		cells := strings.Split(row, " | ")
		if len(cells) != 3 {
			t.Fatalf("docs/replace.md: %q has %d cells, want 3", row, len(cells))
		}
		described[strings.TrimPrefix(cells[0], "| ")] = strings.Split(strings.ReplaceAll(cells[1], "`", ""), ", ")
	}
	for _, class := range slices.Sorted(maps.Keys(compared)) {
		if got, want := slices.Sorted(slices.Values(described[class])), slices.Sorted(slices.Values(compared[class])); !slices.Equal(got, want) {
			t.Errorf("docs/replace.md: the class %q is about %q, want %q", class, got, want)
		}
	}
	if len(described) != len(compared) {
		t.Errorf("docs/replace.md has %d classes, test/adopters %d", len(described), len(compared))
	}
}
