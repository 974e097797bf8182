package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```\n")

// Each block of Go in README.md is the body of an example of the package jobfate, which go test
// compiles and runs. Only the fixture's line is left out.
func TestReadme_examples(t *testing.T) {
	examples := readPage(t, "example_tour_test.go")
	readme := readPage(t, "README.md")
	shown := 0
	for _, block := range goBlock.FindAllStringSubmatch(readme, -1) {
		if strings.HasPrefix(block[1], "import ") {
			continue
		}
		shown++
		body := "\t" + strings.ReplaceAll(strings.TrimSuffix(block[1], "\n"), "\n", "\n\t") + "\n}\n"
		if !strings.Contains(examples, body) {
			t.Errorf("example_tour_test.go has no example that ends with\n%s", body)
		}
	}
	if want := strings.Count(examples, "\nfunc Example"); shown != want {
		t.Errorf("README.md shows %d of %d examples", shown, want)
	}
}

// The blocks of Go in these pages consist of functions of files that are tested, as they are, or of the body of one.
// test/kubernetes/e2e/kinds runs the block about a kind of one's own.
func TestShownCode(t *testing.T) {
	const adopting = "examples/adopting/clientgo/*.go examples/adopting/reconciler/*.go examples/queue/*.go " +
		"examples/outcome/*.go example_tour_test.go"
	for page, tc := range map[string]struct {
		sources string
		blocks  int // at least
		lines   int // of a block, at most
	}{
		"docs/adopting.md":          {adopting, 4, 60},
		"controller/live/README.md": {"controller/live/readme_test.go", 2, 15},
	} {
		var code strings.Builder
		for pattern := range strings.FieldsSeq(tc.sources) {
			for _, file := range must(filepath.Glob(filepath.Join(root, pattern))) {
				code.Write(must(os.ReadFile(file)))
			}
		}
		before, rest, _ := strings.Cut(readPage(t, page), "\n## A kind of your own\n")
		_, after, _ := strings.Cut(rest, "\n## ")
		blocks := goBlock.FindAllStringSubmatch(before+after, -1)
		if len(blocks) < tc.blocks {
			t.Errorf("%s has %d blocks of Go, want %d", page, len(blocks), tc.blocks)
		}
		for _, block := range blocks {
			if n := strings.Count(block[1], "\n"); n > tc.lines {
				t.Errorf("%s has %d lines of Go in a block, want %d at most:\n%s", page, n, tc.lines, block[1])
			}
			for _, function := range strings.SplitAfter(block[1], "\n}\n") {
				function = strings.Trim(function, "\n")
				body := "\t" + strings.ReplaceAll(function, "\n", "\n\t")
				if !strings.Contains(code.String(), function) && !strings.Contains(code.String(), body) {
					t.Errorf("%s shows what no program has:\n%s", page, function)
				}
			}
		}
	}
	// docs/adopting.md says how long the program is.
	for name, most := range map[string]int{"docs/adopting.md": 300, "examples/adopting/clientgo/controller.go": 178} {
		if n := strings.Count(readPage(t, name), "\n"); n > most {
			t.Errorf("%s has %d lines, want %d at most", name, n, most)
		}
	}
}
