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
	mutator string
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

// place identifies a mutant as long as the part of the function that changes reads as it
// does, wherever it moves. Alike mutants of a function share one.
type place struct {
	pkg      string // as explanations call the package
	function string // empty outside of functions
	was      string // the smallest part that changes, in one line
	becomes  string // what it becomes; empty when it is deleted
}

// inOneLine returns a part of the source without line breaks and quotes of Markdown.
func inOneLine(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
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
