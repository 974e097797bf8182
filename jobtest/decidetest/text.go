package decidetest

import (
	"encoding/json"
	"fmt"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
)

// ToJSON returns a value as indented JSON.
func ToJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err) // cannot happen: the tests convert objects of the API
	}
	return string(b)
}

// Explanation lists the explanation of the Job and its indexes, and the notes.
func Explanation(d decide.Decision) (lines []string) {
	e := explain.Of(d)
	lines = append(lines, fmt.Sprintf("%s: %s", e.Job().Code, e.Job().Text))
	for r := range e.Indexes() {
		lines = append(lines, fmt.Sprintf("%s: %s", r.Code, r))
	}
	for _, n := range e.Notes() {
		lines = append(lines, fmt.Sprintf("note %s: %s", n.Code, n.Text))
	}
	return lines
}
