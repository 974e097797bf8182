package adopting

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// Each block of Go in docs/adopting.md consists of functions of these programs, as they are, or of
// an example of the package. test/kubernetes/e2e/kinds runs the block about a kind of one's own.
func TestDocument(t *testing.T) {
	var sources strings.Builder
	for _, pattern := range []string{"clientgo/*.go", "reconciler/*.go", "../queue/*.go", "../outcome/*.go", "../../example_tour_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			sources.WriteString(read(file))
		}
	}
	page := read("../../docs/adopting.md")
	blocks := 0
	for _, section := range strings.Split(page, "\n## ") {
		if strings.HasPrefix(section, "A kind of your own\n") {
			continue
		}
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```\n").FindAllStringSubmatch(section, -1) {
			blocks++
			for _, declaration := range strings.SplitAfter(block[1], "\n}\n") {
				if declaration = strings.Trim(declaration, "\n"); !strings.Contains(sources.String(), declaration) && !strings.Contains(sources.String(), indented(declaration)) {
					t.Errorf("no program has\n%s", declaration)
				}
			}
		}
	}
	if blocks < 4 {
		t.Errorf("the page has %d blocks", blocks)
	}
	if lines := strings.Count(page, "\n"); lines > 300 {
		t.Errorf("the page has %d lines, want 300 at most", lines)
	}
	const path, most = "clientgo/controller.go", 150 // the page says 140
	_, code, _ := strings.Cut(read(path), "\n)\n")
	if n := strings.Count(strings.Trim(code, "\n"), "\n") + 1; n > most {
		t.Errorf("%s has %d lines without imports, want %d at most", path, n, most)
	}
}

// indented returns the body of a function as it stands in its source.
func indented(body string) string {
	return "\t" + strings.ReplaceAll(body, "\n", "\n\t")
}

func read(path string) string { return string(Must(os.ReadFile(path))) }
