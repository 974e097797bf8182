package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"

	"github.com/jobfate/jobfate/vectors"
	"github.com/jobfate/jobfate/vectors/mutant"
)

// The kinds of vectors.
const (
	aCase = iota
	aCall
	aDialogue
	kinds
)

// vector is a line of a file.
type vector struct {
	kind       int
	file, text string
	line       int
	shows      []string    // the features, functions, divergences and events in it
	differs    func() bool // whether jobfate differs from the vector
	effort     int         // the calls of mutant.Is without a mutant
}

// detects reports whether a mutant makes jobfate differ, take ten times as long, or panic.
func (v *vector) detects(n int) (detects bool) {
	mutant.On, mutant.Left = n, 10*v.effort
	defer func() {
		mutant.On = 0
		detects = recover() != nil || detects
	}()
	return v.differs()
}

// read reads all vectors: the cases and calls, the shortest first, and then the dialogues.
func read() (all []*vector) {
	all = slices.Concat(
		from(aCase, "*.jsonl", ofCase), from(aCall, "functions/*.jsonl", ofCall),
		from(aDialogue, "dialogues/*.jsonl", ofDialogue))
	readme, err := os.ReadFile("README.md")
	check(err)
	for i, v := range all {
		v.line = i
		if id := caseID.FindString(v.text); id != "" && bytes.Contains(readme, []byte("`"+id[len(`"id":"`):]+"`")) {
			v.shows = append(v.shows, "the case in README.md")
		}
	}
	slices.SortStableFunc(all, func(a, b *vector) int {
		return cmp.Or(cmp.Compare(a.kind/aDialogue, b.kind/aDialogue), cmp.Compare(len(a.text), len(b.text)),
			cmp.Compare(a.text, b.text))
	})
	return all
}

var caseID = regexp.MustCompile(`"id":"[a-z-]+-[0-9a-f]{8}`)

// from reads the vectors of some files.
func from[T any](kind int, pattern string, of func(*T) ([]string, func() bool)) (all []*vector) {
	for line, err := range vectors.Lines[T](pattern) {
		check(err)
		v := &vector{kind: kind, file: line.File, text: string(line.Text) + "\n"}
		v.shows, v.differs = of(line.Case)
		for i, what := range v.shows {
			v.shows[i] = line.File + ": " + what
		}
		all = append(all, v)
	}
	return all
}

func ofCase(c *vectors.Case) (shows []string, differs func() bool) {
	want := textOf(c.Jobfate)
	return slices.Concat(c.Features, c.Divergences), func() bool {
		got, err := c.Run()
		if c.Refused != "" {
			return vectors.RefusedField(err) != c.Refused
		}
		return err != nil || textOf(got) != want
	}
}

func ofCall(c *vectors.Call) (shows []string, differs func() bool) {
	shows = []string{c.Function}
	for _, name := range c.Divergences {
		shows = append(shows, c.Function+": "+name)
	}
	return shows, func() bool {
		got, err := c.Run()
		return err != nil || !bytes.Equal(got, c.Jobfate)
	}
}

func ofDialogue(d *vectors.Dialogue) (shows []string, differs func() bool) {
	return slices.Clone(d.Shows), func() bool { return d.Replay() != "" }
}

func textOf(v any) string {
	data, err := json.Marshal(v)
	check(err)
	return string(data)
}
