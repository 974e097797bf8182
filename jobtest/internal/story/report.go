// Package story lays out the reports of the kits that run schedules of faults.
//
// The package knows nothing of what happens in a schedule.
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
	Of        string // the Job that it is about, if there are several
	Again     string // the command that runs the schedule again
	Notes     string // lines about how it comes about
	Chance    bool   // the violation occurred once, and not when the schedule ran again
	Tale      *Tale
	End       []string // the objects in the end
}

// Longest is the number of lines that a report has at most.
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
		head = append(head, "It was found once, and not when the same schedule ran again: the controller depends on",
			"chance, as on the order of a map.")
	}
	return strings.Join(slices.Concat(head, r.Tale.Lines(Longest-len(head)-len(r.End)), r.End), "\n") + "\n"
}

var stepLine = regexp.MustCompile(`(?m)^ *(\d+)  \d\d:\d\d:\d\d\.\d{3}  `)

// StepsOf returns the number of steps that a report has, for tests of how short it is.
func StepsOf(report string) int {
	steps := map[string]bool{}
	for _, line := range stepLine.FindAllStringSubmatch(report, -1) {
		steps[line[1]] = true
	}
	return len(steps)
}
