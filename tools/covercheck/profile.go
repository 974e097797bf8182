package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// block is a run of statements in a file.
type block struct {
	file                                 string
	startLine, startCol, endLine, endCol int
	statements                           int
}

func (b block) String() string { return fmt.Sprintf("%s:%d-%d", b.file, b.startLine, b.endLine) }

// blocks tells which blocks have been run.
type blocks map[block]bool

func (bs blocks) readFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := bs.read(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read adds a profile, as go test -coverprofile writes it. Each line names a
// block, the number of its statements and how often it was run; a block may come
// several times, once for each test binary.
func (bs blocks) read(r io.Reader) error {
	in := bufio.NewScanner(r)
	for line := 1; in.Scan(); line++ {
		if line == 1 && strings.HasPrefix(in.Text(), "mode: ") {
			continue
		}
		file, rest, _ := strings.Cut(in.Text(), ":")
		b := block{file: file}
		var count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
			&b.startLine, &b.startCol, &b.endLine, &b.endCol, &b.statements, &count); err != nil {
			return fmt.Errorf("line %d: not a line of a coverage profile: %q", line, in.Text())
		}
		bs[b] = bs[b] || count > 0
	}
	return in.Err()
}

// tally is what has been covered of a package.
type tally struct {
	statements, covered int
	missed              []block
}

// percent is 0 for a package of which nothing is known.
func (t tally) percent() float64 {
	if t.statements == 0 {
		return 0
	}
	return 100 * float64(t.covered) / float64(t.statements)
}

func (bs blocks) tally(importPath string) tally {
	var t tally
	for _, b := range slices.SortedFunc(maps.Keys(bs), byPlace) {
		if path.Dir(b.file) != importPath {
			continue
		}
		t.statements += b.statements
		if bs[b] {
			t.covered += b.statements
		} else {
			t.missed = append(t.missed, b)
		}
	}
	return t
}

func byPlace(a, b block) int {
	if c := strings.Compare(a.file, b.file); c != 0 {
		return c
	}
	if a.startLine != b.startLine {
		return a.startLine - b.startLine
	}
	return a.startCol - b.startCol
}
