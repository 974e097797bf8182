package main

import "strings"

// verdict is what became of a mutant.
type verdict int

const (
	survived verdict = iota
	killed
	timedOut
	notRun // the tests do not come there
)

// mutant is a small mistake.
type mutant struct {
	place
	change  change
	verdict verdict
	// condition says that the change replaces one condition by another, so that
	// a variable can choose between them.
	condition bool
	// choice is another change that a variable can choose: of the statement around it.
	// Its file is nil if there is none.
	choice change
	// defines says that this statement defines what it changes.
	defines bool
}

// place identifies a mutant as long as its line stays as it is, wherever that
// moves. Alike mutants of the same line, or of two lines that read the same, share
// one.
type place struct {
	pkg      string // as explanations call the package
	file     string
	function string // empty outside of functions
	mutator  string
	was      string // the first line that changes
	becomes  string // what it becomes; empty when it is deleted
}

// change is a part of a file and what to put there instead.
type change struct {
	file       *sourceFile
	start, end int
	text       string
}

// apply returns the text of the file with the change.
func (c change) apply() string {
	return c.file.text[:c.start] + c.text + c.file.text[c.end:]
}

// overlaps reports whether two changes have a part of a file in common, and are not both
// of that part.
func (c change) overlaps(o change) bool {
	return c.file == o.file && c.start < o.end && o.start < c.end && !c.replaces(o)
}

// replaces reports whether two changes are of the same part of a file.
func (c change) replaces(o change) bool {
	return c.file == o.file && c.start == o.start && c.end == o.end
}

// describe returns the first line that the change touches, before and after it.
func (c change) describe() (was, becomes string) {
	before, after := strings.Split(c.file.text, "\n"), strings.Split(c.apply(), "\n")
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			return strings.TrimSpace(before[i]), strings.TrimSpace(after[i])
		}
	}
	return "", ""
}
