package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/imports"
)

// benchmark is that of a function of the project, and after that of ours. What it does not import is removed.
const benchmark = `package %s

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobs "github.com/jobfate/jobfate/jobtest/fixture"
)

func BenchmarkCost_%s(b *testing.B) {
	%s
	for b.Loop() {
		%s
	}
}
`

// result is the line of a benchmark.
var result = regexp.MustCompile(`BenchmarkCost_\S+\s+\d+\s+(\S+) ns/op`)

// costs returns what jobfate costs the project, as its row of the second table of docs/replace.md.
func (p *project) costs(ctx context.Context) (row string, err error) {
	t, err := p.newTree(ctx)
	if err != nil {
		return "", err
	}
	binaries, err := os.MkdirTemp("", "jobfate-costs-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.remove(), os.RemoveAll(binaries)) }()
	text := fmt.Appendf(nil, benchmark, path.Base(p.packages[0]), p.function, p.setup, p.call)
	file := filepath.Join(t.copy, p.packages[0], "jobfate_cost_test.go")
	if text, err = imports.Process(file, text, nil); err != nil {
		return "", err
	}
	if err = os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	testsBefore, testsAfter := filepath.Join(binaries, "before"), filepath.Join(binaries, "after")
	before, err := t.build(ctx, testsBefore)
	if err != nil {
		return "", err
	}
	if err = t.replace(".go", p.drop, nil); err != nil {
		return "", err
	}
	after, err := t.build(ctx, testsAfter)
	if err != nil {
		return "", err
	}
	if err = t.same(ctx); err != nil {
		return "", err
	}
	lines, err := t.vendored(ctx)
	if err != nil {
		return "", err
	}
	fastest, err := t.compare(ctx, testsBefore, testsAfter)
	row = fmt.Sprintf("| %s | %d | %.1f | %.2f | `%s` | %.3g | %.2g |", p.title, lines, before, after-before,
		p.function, fastest[1]/1e3, fastest[0]/fastest[1])
	return row, errors.Join(err, t.moved(ctx))
}

// build builds the tests of the package with the benchmark, and the program, if there is one. It returns the size in MB
// of what it built last.
func (t *tree) build(ctx context.Context, tests string) (size float64, err error) {
	binary := tests
	_, err = goIn(ctx, t.copy, "test", "-c", "-mod=mod", "-o", tests, t.packages[0])
	if err == nil && t.program != "" {
		binary = tests + ".main"
		_, err = goIn(ctx, t.copy, "build", "-mod=mod", "-buildvcs=false", "-o", binary, t.program)
	}
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(binary)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

// same returns an error if the modules of the project change otherwise than they may.
func (t *tree) same(ctx context.Context) error {
	var graphs [2]map[string]string
	for i, dir := range []string{t.theirs, t.copy} {
		// With -e, a module that the project requires and replaces need not exist.
		out, err := goIn(ctx, dir, "list", "-e", "-m",
			"-f", "{{.Path}} {{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}", "all")
		if err != nil {
			return err
		}
		graphs[i] = map[string]string{}
		for line := range strings.Lines(string(out)) {
			name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
			graphs[i][name] = version
		}
	}
	return stay(graphs[0], graphs[1])
}

// stay returns an error if a module has another version after, or is new besides ours and that of our random tests.
func stay(before, after map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(after)) {
		version, known := before[name]
		if !known && (strings.HasPrefix(name, library) || name == "pgregory.net/rapid") {
			continue
		}
		if version != after[name] {
			errs = append(errs, fmt.Errorf("%s moves from %q to %s", name, version, after[name]))
		}
	}
	return errors.Join(errs...)
}

// vendored returns how many lines of this repository go mod vendor copies.
func (t *tree) vendored(ctx context.Context) (lines int, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return 0, err
	}
	args := []string{"list", "-deps", "-test", "-mod=mod", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`}
	for name := range t.changed {
		args = append(args, "./"+path.Dir(name))
	}
	files, err := goIn(ctx, t.copy, args...)
	if err != nil {
		return 0, err
	}
	for file := range strings.Lines(string(files)) {
		if !strings.HasPrefix(file, root+"/") {
			continue
		}
		text, err := os.ReadFile(strings.TrimSpace(file))
		if err != nil {
			return 0, err
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	return lines, nil
}

// compare runs the benchmark in two test binaries by turns, and returns the nanoseconds of the fastest run of
// each.
func (t *tree) compare(ctx context.Context, binaries ...string) (fastest [2]float64, err error) {
	for range 5 {
		for i, binary := range binaries {
			cmd := exec.CommandContext(ctx, binary,
				"-test.run=^$", "-test.bench=^BenchmarkCost_", "-test.benchtime=200ms")
			cmd.Dir = filepath.Join(t.copy, t.packages[0])
			out, err := output(cmd)
			if err != nil {
				return fastest, err
			}
			found := result.FindSubmatch(out)
			if found == nil {
				return fastest, fmt.Errorf("no benchmark ran: %s", out)
			}
			ns, err := strconv.ParseFloat(string(found[1]), 64)
			if err != nil {
				return fastest, err
			}
			if fastest[i] == 0 || ns < fastest[i] {
				fastest[i] = ns
			}
		}
	}
	return fastest, nil
}
