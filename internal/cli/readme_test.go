package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme checks the example of the command in README.md.
func TestReadme(t *testing.T) {
	readme := readFile(t, "../../README.md")
	for what, want := range map[string]string{
		"the command":             "explain --now " + goldens[0].now + " testdata/samples/" + goldens[0].sample + "/*\n",
		"what the command prints": "```\n" + readFile(t, filepath.Join("testdata", goldens[0].name+".txt")) + "```\n",
	} {
		if !strings.Contains(readme, want) {
			t.Errorf("README.md does not have %s:\n%s", what, want)
		}
	}
}

// TestReadmeProgram runs the program of README.md and compares its output.
func TestReadmeProgram(t *testing.T) {
	readme := readFile(t, "../../README.md")
	_, rest, _ := strings.Cut(readme, "```go\npackage main\n")
	program, rest, ok := strings.Cut("package main\n"+rest, "```\n")
	_, rest, prints := strings.Cut(rest, "It prints:\n\n```\n")
	want, _, ends := strings.Cut(rest, "```\n")
	if !ok || !prints || !ends {
		t.Fatal("README.md has no program with its output")
	}
	file := filepath.Join(t.TempDir(), "first.go")
	if err := os.WriteFile(file, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// To go, the file is where README.md says. It has the same path in each test, so that go finds the
	// program in its cache.
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(filepath.Dir(clone), "first.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	replacements := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(replacements, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-overlay", replacements, "../first.go")
	cmd.Dir, cmd.Stderr = clone, os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("the program of README.md: %v", err)
	}
	if string(got) != want {
		t.Errorf("the program of README.md prints\n%swant\n%s", got, want)
	}
	if formatted, err := exec.Command("gofmt", "-l", file).Output(); err != nil || len(formatted) > 0 {
		t.Errorf("gofmt would change the program of README.md (%v)", err)
	}
}
