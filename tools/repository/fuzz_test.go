package repository

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// fuzzed lists the packages with fuzz targets of their own. docs/fuzz-targets.tsv names their targets.
var fuzzed = []string{
	"decide", "indexset", "backoff", "failurepolicy", "group", "tracking/counting", "validation", "jobstatus", "jobtest/decisions",
}

// Each fuzz target has a corpus with the edge cases, and docs/fuzz-targets.tsv says what it checks. A
// corpus belongs to a target. Its JSON is valid, because a target ignores text that is not.
func TestCorpora(t *testing.T) {
	const targetsFile = "docs/fuzz-targets.tsv"
	listed := map[string]bool{} // by folder and name
	for _, row := range sheet(t, targetsFile, 4) {
		dir, _, _ := strings.Cut(row[0], ":")
		for name := range strings.SplitSeq(row[1], ", ") {
			listed[dir+" "+name] = row[3] != ""
		}
	}
	sources, _ := read(t)
	total := 0
	for _, dir := range fuzzed {
		targets := map[string]bool{}
		for _, name := range testsIn(sources, dir, false) {
			if !strings.HasPrefix(name, "Fuzz") {
				continue
			}
			targets[name] = true
			if !listed[dir+" "+name] {
				t.Errorf("%s does not say what %s of %s checks", targetsFile, name, dir)
			}
			delete(listed, dir+" "+name)
			files, _ := filepath.Glob(filepath.Join(root, dir, "testdata/fuzz", name, "*"))
			if len(files) == 0 {
				t.Errorf("%s of %s has no corpus", name, dir)
			}
			for _, file := range files {
				total += checkCorpus(t, file)
			}
		}
		corpora, _ := filepath.Glob(filepath.Join(root, dir, "testdata/fuzz/*"))
		for _, corpus := range corpora {
			if !targets[filepath.Base(corpus)] {
				t.Errorf("%s belongs to no fuzz target", corpus)
			}
		}
	}
	for name := range listed {
		t.Errorf("%s: there is no fuzz target %s", targetsFile, name)
	}
	if total > 300_000 {
		t.Errorf("the corpora have %d bytes, want at most 300,000", total)
	}
}

// checkCorpus checks that texts in a file which look like JSON are JSON. It returns the file's size.
func checkCorpus(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		if i == 0 {
			continue // the version of the format
		}
		value, err := parser.ParseExpr(line)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		call, ok := value.(*ast.CallExpr)
		if !ok {
			continue
		}
		text, ok := call.Args[0].(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			continue
		}
		got, err := strconv.Unquote(text.Value)
		if looks := strings.HasPrefix(got, `{"`) || strings.HasPrefix(got, `[{`); err != nil || looks && !json.Valid([]byte(got)) {
			t.Errorf("%s: not JSON: %s", file, text.Value)
		}
	}
	return len(data)
}
