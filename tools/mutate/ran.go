package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// block is a part of a file that runs as a whole, as coverage profiles have it.
type block struct {
	file     string // without the folder
	from, to int    // offsets
	ran      bool
}

// runTests runs the tests of one folder and returns the blocks of the package.
func (r *runner) runTests(p *sourcePackage, tests string) ([]block, error) {
	profile := filepath.Join(r.work, p.name+".profile")
	if _, err := r.goCommand("test", "-count=1", "-coverpkg=./"+p.dir, "-coverprofile="+profile, tests); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return p.readBlocks(string(text))
}

// readBlocks reads a coverage profile. Its first line says how it counts.
func (p *sourcePackage) readBlocks(profile string) (blocks []block, err error) {
	_, lines, _ := strings.Cut(profile, "\n")
	for line := range strings.Lines(lines) {
		name, numbers, _ := strings.Cut(line, ":")
		var from, to struct{ line, column int }
		var statements, times int
		if _, err := fmt.Sscanf(numbers, "%d.%d,%d.%d %d %d", &from.line, &from.column, &to.line, &to.column, &statements, &times); err != nil {
			return nil, fmt.Errorf("coverage profile: %q: %w", line, err)
		}
		for _, f := range p.files {
			if file := p.fset.File(f.tree.Pos()); f.name == path.Base(name) {
				start := func(line int) int { return p.offset(file.LineStart(line)) }
				blocks = append(blocks, block{f.name, start(from.line) + from.column - 1, start(to.line) + to.column - 1, times > 0})
			}
		}
	}
	return blocks, nil
}

// leaveOut marks the mutants in statements that the tests do not run: they cannot be
// noticed. What stands in no block, as the condition of a case, counts as run.
func (p *sourcePackage) leaveOut(mutants []*mutant) {
	for _, m := range mutants {
		in, ran := false, false
		for _, b := range p.blocks {
			if b.file == m.change.file.name && b.from <= m.change.start && m.change.start < b.to {
				in, ran = true, ran || b.ran
			}
		}
		if in && !ran {
			m.verdict = notRun
		}
	}
}
