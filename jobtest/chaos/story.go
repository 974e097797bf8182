package chaos

import (
	"fmt"
	"strings"
)

// longest is how many lines a story has at most.
const longest = 60

// story is the report: what is broken in words, how to run it again, what happened, and
// the objects as they are.
func (r *run) story() string {
	head := []string{
		fmt.Sprintf("%s, %s: %s", r.broken.Property, r.broken.Meaning(), r.broken.Text),
		fmt.Sprintf("seed %d. To run it again:", r.Seed),
		"  " + r.Again,
	}
	if len(r.sites) > 1 {
		head[1] = fmt.Sprintf("the Job is %s. Seed %d. To run it again:", r.of, r.Seed)
	}
	if r.cause != "" {
		head = append(head, strings.Split("cause: "+r.cause, "\n")...)
	}
	if r.fickle {
		head = append(head, "It was found once, and not when the same schedule ran again: the controller depends on",
			"chance, as on the order of a map.")
	}
	end := r.objects()
	return strings.Join(append(head, cut(r.tale.told(), longest-len(head)-len(end), end)...), "\n") + "\n"
}

// cut leaves lines out of the middle of a story that is too long: the end tells most.
func cut(lines []string, most int, end []string) []string {
	const first = 10
	if most = max(most, 2*first); len(lines) > most {
		left := len(lines) - most + 1
		lines = append(append(append([]string(nil), lines[:first]...), fmt.Sprintf("  ... %d lines are left out ...", left)), lines[first+left:]...)
	}
	return append(lines, end...)
}

// objects are what there is when the story ends.
func (r *run) objects() []string {
	const most = 12
	if r.c == nil {
		return nil
	}
	lines := []string{"in the end:"}
	for _, job := range r.c.Jobs() {
		lines = append(lines, "  "+specLine(job), "  status "+statusLine(&job.Status))
	}
	for i, pod := range r.c.Pods() {
		if i == most {
			return append(lines, fmt.Sprintf("  and %d more pods", len(r.c.Pods())-most))
		}
		lines = append(lines, "  "+podLine(pod))
	}
	return lines
}
