// Package story formats the reports of the kits that run schedules of faults.
package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/jobtest/referee"
)

// Report is the report of a violation.
type Report struct {
	Violation *referee.Violation
	Seed      uint64
	Of        string // the Job of the violation, if there are several
	Again     string // the command that runs the schedule again
	Notes     string // lines about the cause
	Chance    bool   // the violation did not occur again when the schedule ran again
	Log       *Log
	End       []string // the objects at the end
}

// Longest is the maximum number of lines of a report.
const Longest = 60

// String returns the report.
func (r Report) String() string {
	head := []string{
		fmt.Sprintf("%s, %s: %s", r.Violation.Property, r.Violation.Meaning(), r.Violation.Text),
		fmt.Sprintf("seed %d. To run it again:", r.Seed),
		"  " + r.Again,
	}
	if r.Of != "" {
		head[1] = fmt.Sprintf("the Job is %s. Seed %d. To run it again:", r.Of, r.Seed)
	}
	if r.Notes != "" {
		head = append(head, strings.Split(r.Notes, "\n")...)
	}
	if r.Chance {
		head = append(head, "It did not occur again when the same schedule ran again: the controller depends on",
			"chance, as on the order of a map.")
	}
	return strings.Join(slices.Concat(head, r.Log.Lines(Longest-len(head)-len(r.End)), r.End), "\n") + "\n"
}

var stepLine = regexp.MustCompile(`(?m)^ *(\d+)  \d\d:\d\d:\d\d\.\d{3}  `)

// StepsOf returns the number of steps in a report, for tests of its length.
func StepsOf(report string) int {
	steps := map[string]bool{}
	for _, line := range stepLine.FindAllStringSubmatch(report, -1) {
		steps[line[1]] = true
	}
	return len(steps)
}
