package repository

import (
	"regexp"
	"strings"
	"testing"
)

// Each block of Go in README.md is the body of an example of the package jobfate, which go test
// compiles and runs. Only the fixture's line is left out.
func TestReadme_examples(t *testing.T) {
	examples := readPage(t, "example_tour_test.go")
	readme := readPage(t, "README.md")
	shown := 0
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```\n").FindAllStringSubmatch(readme, -1) {
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
