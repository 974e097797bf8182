package chaos

import (
	"fmt"

	"github.com/jobfate/jobfate/jobtest/internal/story"
)

// story returns the report.
func (r *run) story() string {
	s := r.Report(r.Again)
	s.End = r.objects()
	if len(r.slots) > 1 {
		s.Of = r.of.String()
	}
	if r.cause != "" {
		s.Notes = "cause: " + r.cause
	}
	return s.String()
}

// objects describes the objects at the end of the story.
func (r *run) objects() []string {
	const most = 12
	if r.c == nil {
		return nil
	}
	lines := []string{"at the end:"}
	for _, job := range r.c.Jobs() {
		lines = append(lines, "  "+story.Spec(job), "  status "+story.Status(&job.Status))
	}
	for i, pod := range r.c.Pods() {
		if i == most {
			return append(lines, fmt.Sprintf("  and %d more pods", len(r.c.Pods())-most))
		}
		lines = append(lines, "  "+story.Pod(r.keys(), pod))
	}
	return lines
}
