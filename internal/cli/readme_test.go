package cli

import (
	"regexp"
	"strings"
	"testing"
)

// The command of README.md is the one whose output the first golden file has.
func TestReadme_command(t *testing.T) {
	if want := "`go run ./cmd/jobfate explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "/*`"; !strings.Contains(readFile(t, "../../README.md"), want) {
		t.Errorf("README.md does not have the command %s", want)
	}
}

// Each block of Go in README.md is the body of an example of the package jobfate, which go test
// compiles and runs. Only the fixture's line is left out.
func TestReadme_examples(t *testing.T) {
	examples := readFile(t, "../../example_tour_test.go")
	readme := readFile(t, "../../README.md")
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
