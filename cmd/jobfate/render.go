package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// json returns the report as the output of -o json.
func (r *report) json() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(r) // every value of a report has a JSON
	return b.String()
}

// text returns the report for people to read. The first line says why there is
// no pod, or no further one.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", r.Reason.Code, r.Reason.Text)
	fmt.Fprintf(&b, "Job %s/%s, %s, at %s, all times in UTC.\n", r.Job.Namespace, r.Job.Name, podCount(r.Pods), r.Now.Format(time.RFC3339))
	if r.ManagedBy != "" {
		fmt.Fprintf(&b, "%s manages it: this is what that controller would do if it decided like the Job controller.\n", r.ManagedBy)
	}
	if steps := r.steps(); len(steps) > 0 {
		section(&b, "Next, in this order", steps)
	} else {
		b.WriteString("\nNext: nothing.\n")
	}
	if r.RequeueAt != nil {
		fmt.Fprintf(&b, "\nLooks again in %s, at %s.\n",
			time.Duration(r.RequeueSeconds*float64(time.Second)).Round(time.Millisecond), r.RequeueAt.Format(time.RFC3339))
	}
	if len(r.Indexes) > 0 || r.Completed != "" {
		lines := []string{"completed: " + orNone(r.Completed)}
		for _, index := range r.Indexes {
			lines = append(lines, index.line)
		}
		section(&b, "Indexes", lines)
	}
	if len(r.Notes) > 0 {
		section(&b, "Notes", mapped(r.Notes, func(n note) string { return n.Code + ": " + n.Text }))
	}
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// steps are the lines of what to do.
func (r *report) steps() []string {
	var out []string
	for _, c := range r.Claims {
		out = append(out, c.String())
	}
	for _, d := range r.Deletions {
		out = append(out, d.String())
	}
	for _, c := range r.Creations {
		out = append(out, c.String())
	}
	out = appendChanges(out, "store the status", r.Status)
	for _, name := range r.Finalizers {
		out = append(out, "remove the finalizer of pod "+name)
	}
	return appendChanges(out, "store the status again", r.Settled)
}

func appendChanges(lines []string, title string, all []change) []string {
	if len(all) == 0 {
		return lines
	}
	lines = append(lines, title)
	for _, c := range all {
		lines = append(lines, "  "+c.line)
	}
	return lines
}

func (c claim) String() string {
	if c.Action == "free" {
		return "remove the finalizer of pod " + c.Pod + ", which nobody owns"
	}
	return c.Action + " pod " + c.Pod
}

func (d deletion) String() string {
	text := "delete pod " + d.Pod + " (" + d.Cause + ")"
	if d.FinalizerFirst {
		text += ", its finalizer first"
	}
	return text
}

func (c creation) String() string {
	text := "create pod " + c.NamePrefix + "*"
	if c.Index != nil {
		text += fmt.Sprintf(" for index %d", *c.Index)
	}
	if c.Replaces != "" {
		text += " in place of " + c.Replaces
	}
	if c.Failures != nil && *c.Failures > 0 {
		text += fmt.Sprintf(", failures %d", *c.Failures)
	}
	if c.Ignored != nil && *c.Ignored > 0 {
		text += fmt.Sprintf(", ignored failures %d", *c.Ignored)
	}
	return text
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

func podCount(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}
