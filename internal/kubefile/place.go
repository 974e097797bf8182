package kubefile

import "fmt"

// Place is where in the input an object stands.
type Place struct {
	File string
	// Document counts the documents of the file from 1, without empty ones.
	Document int
	// Item counts the items of a list from 1; 0 for an object that stands alone.
	Item int

	line int   // on which it starts, when its text is not kept
	text *text // nil when it is not kept
}

// String returns the place as it begins an error: "pods.yaml: document 1, item 3".
func (p Place) String() string {
	if p.Item == 0 {
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s: document %d, item %d", p.File, p.Document, p.Item)
}

// Line returns the line of the file on which a field of the object stands, as in
// "spec.completions", or the nearest field around it that is there.
func (p Place) Line(field string) int {
	if p.text == nil {
		return p.line
	}
	return p.text.lineOf(field)
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string { return fmt.Sprintf("%s:%d", p.File, p.Line(field)) }
