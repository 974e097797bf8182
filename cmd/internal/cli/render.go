package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobfate/jobfate/cmd/diagnose"
	why "github.com/jobfate/jobfate/explain"
)

// The limits of long lists in the text.
const (
	mostLines = 20  // of a list
	mostUIDs  = 5   // of a list of pods' UIDs
	mostText  = 200 // bytes of a list of indexes
)

var attentionColors = map[diagnose.Attention]string{diagnose.AttentionNone: green, diagnose.AttentionWait: yellow,
	diagnose.AttentionHeld: yellow, diagnose.AttentionLost: red, diagnose.AttentionStuck: red}

// indexColors has the colours of the states of an index.
var indexColors = map[why.Code]string{
	why.IndexFailed:      red,
	why.IndexStopped:     red,
	why.IndexStuck:       red,
	why.IndexRemoving:    yellow,
	why.IndexTerminating: yellow,
	why.IndexBackingOff:  yellow,
	why.IndexWaiting:     yellow,
	why.IndexStarting:    green,
	why.IndexActive:      green,
	why.IndexCreating:    green,
}

// page is the text of a report as it grows.
type page struct {
	strings.Builder
	paint paint
	all   bool
}

// text returns the report as text. The first line says why there is no pod, or no further
// pod.
func (r *report) text(p paint, all bool) string {
	b := &page{paint: p, all: all}
	b.first(r.Reason)
	write(b, "Job %s, %s%s, at %s.\n",
		p.text(bold, r.Job.Namespace+"/"+r.Job.Name), podCount(r.own), r.times(), r.Now.Format(time.RFC3339))
	if r.Prospect.Code == "" {
		return b.String() // nothing is decided
	}
	unknown := r.podsUnknown()
	if !unknown {
		write(b, "%s.\n", why.Totals(r.Totals))
		b.failures(r)
		b.helps(r)
	}
	if r.ManagedBy != "" {
		write(b, "%s manages the Job: the rest is what it would do if it decided like the Job controller.\n",
			r.ManagedBy)
	}
	if unknown {
		b.notes(r.Events, r.Notes)
		return b.String()
	}
	b.log(r.Log)
	if len(r.Also) > 0 {
		b.also(r.Also, r.Reason.Advice)
	}
	if steps := r.steps(all); len(steps) > 0 {
		b.section("Next, in this order", steps)
	} else {
		write(b, "\n%s nothing.\n", p.text(bold, "Next:"))
	}
	if len(r.Waits) > 0 {
		b.section("Waiting for", mapped(r.Waits, func(w reason) string { return w.Text }))
	}
	switch {
	case strings.Contains(r.Reason.Text, "cannot be created"): // MaxJobApiBackOff of pkg/controller/job
		b.WriteString("\nThe controller tries again within a minute.\n")
	case r.RequeueAt != nil:
		write(b, "\nThe controller syncs the Job again in %s, at %s, or when something changes.\n",
			time.Duration(r.RequeueSeconds*float64(time.Second)).Round(time.Millisecond),
			r.RequeueAt.Format(time.RFC3339))
	}
	can := r.Prospect.Text
	if r.Reason.attention == diagnose.AttentionStuck {
		can = strings.Replace(can, "yes:", "as far as its limits go, yes:", 1)
	}
	write(b, "\n%s %s.\n", p.text(bold, "Can it succeed?"), can)
	if r.LastFailure != nil && !r.indexed {
		write(b, "\n%s %s.\n", p.text(bold, "Last failure:"), r.LastFailure)
	}
	if len(r.Indexes) > 0 || r.Completed != "" {
		done := p.text(green, "completed") + ": " + cmp.Or(shortened(r.Completed, all), "none")
		b.section("Indexes", append([]string{done}, b.indexes(r)...))
	}
	if r.advise {
		b.proposals(r.Proposals)
	}
	b.notes(r.Events, r.Notes)
	return b.String()
}

// also writes the causes after the first, which has the given advice. No advice is repeated.
func (b *page) also(all []cause, given ...string) {
	var lines []string
	given = append(given, "")
	for _, c := range all {
		lines = append(lines, b.paint.text(attentionColors[c.attention], c.Code)+": "+cutMessage(c.Text, b.all))
		if !slices.Contains(given, c.Advice) {
			given, lines = append(given, c.Advice), append(lines, "  "+c.Advice)
		}
	}
	b.section("Also", lines)
}

// podsUnknown reports whether none of the Job's pods were given, so that the next steps are not known.
func (r *report) podsUnknown() bool {
	t := r.Totals
	missing := slices.ContainsFunc(append([]cause{r.Reason}, r.Also...),
		func(c cause) bool { return c.Code == "PodsMissing" })
	return missing && len(r.Claims) == 0 && t.Running+t.Starting+t.Waiting+t.Stuck+t.Terminating == 0
}

// notes writes the last events and the notes.
func (b *page) notes(events []event, all []Note) {
	if len(events) > 0 {
		b.section("Events", mapped(events, func(e event) string { return e.line(b.paint, b.all) }))
	}
	if len(all) > 0 {
		notes := mapped(all, func(n Note) string { return b.paint.text(yellow, n.Code) + ": " + n.Text })
		b.section("Notes", cut(notes, mostLines, b.all))
	}
}

// between says how long it is from one time to another; empty if the first is not known.
func between(from *time.Time, to time.Time) string {
	if from == nil {
		return ""
	}
	return duration.HumanDuration(max(0, to.Sub(*from)))
}

// duration says for how long the Job has run; empty if it has not started.
func (r *report) duration() string { return between(r.Started, *cmp.Or(r.Ended, &r.Now)) }

// completions says how many pods have succeeded and how many should, as kubectl does.
func (r *report) completions() string {
	switch {
	case r.Completions != nil:
		return fmt.Sprintf("%d/%d", r.Succeeded, *r.Completions)
	case r.Parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", r.Succeeded, r.Parallelism)
	}
	return fmt.Sprintf("%d/1", r.Succeeded)
}

// times says how old the Job is, and for how long it has run.
func (r *report) times() (text string) {
	if r.Created != nil {
		text += ", created " + between(r.Created, r.Now) + " ago"
	}
	switch {
	case r.Started != nil && r.Ended != nil:
		text += ", ran for " + r.duration()
	case r.Started != nil:
		text += ", started " + r.duration() + " ago"
	}
	if r.Ended != nil {
		text += ", ended " + between(r.Ended, r.Now) + " ago"
	}
	return text
}

// line returns an event as a line.
func (e event) line(p paint, all bool) string {
	at, color, times := "unknown time", "", ""
	if e.At != nil {
		at = e.At.Format(time.RFC3339)
	}
	if e.Warning {
		color = yellow
	}
	if e.Count > 1 {
		times = fmt.Sprintf(" ×%d", e.Count)
	}
	if e.Pods > 1 {
		e.Object += fmt.Sprintf(" and %d more", e.Pods-1)
	}
	return fmt.Sprintf("%s %s%s, %s: %s", at, p.text(color, e.Reason), times, e.Object, cutMessage(e.Message, all))
}

// mostMessage is the number of bytes of a message, except in the first line.
const mostMessage = 300

// cutMessage cuts a long message.
func cutMessage(text string, all bool) string {
	if all || len(text) <= mostMessage {
		return text
	}
	return strings.ToValidUTF8(text[:mostMessage], "") + "… (--all shows it)"
}

func (b *page) section(title string, lines []string) {
	write(b, "\n%s\n", b.paint.text(bold, title+":"))
	for _, line := range lines {
		write(b, "  %s\n", line)
	}
}

// first writes the first line, with advice and the affected pods.
func (b *page) first(c cause) {
	write(b, "%s: %s\n", b.paint.text(bold+";"+attentionColors[c.attention], c.Code), c.Text)
	if c.Advice != "" {
		write(b, "  %s\n", c.Advice)
	}
	if len(c.Pods) > 0 {
		write(b, "  Pods: %s\n", strings.Join(cut(c.Pods, mostUIDs, b.all), ", "))
	}
	b.WriteString("\n")
}

// indexes returns the lines about the indexes. If there are many, indexes in the same state
// share a line, and those that need attention come first.
func (b *page) indexes(r *report) []string {
	var lines []string
	if len(r.Indexes) > mostLines && !b.all {
		for _, g := range r.groups {
			lines = append(lines, b.paint.text(indexColors[g.Code], shortened(g.Indexes.String(), false))+": "+g.Text)
		}
		return append(cut(lines, mostLines, false), "(--all shows each index)")
	}
	for _, x := range r.Indexes {
		who, what, _ := strings.Cut(x.line, ": ")
		lines = append(lines, b.paint.text(indexColors[why.Code(x.Code)], who)+": "+cutMessage(what, b.all))
		if x.FailedPod != "" {
			lines = append(lines, "  "+x.failure.String())
		}
		if x.failed != "" {
			lines = append(lines, "  failed pods: "+x.failed)
		}
	}
	return lines
}

// String says how the pod failed, and which rule it matched.
func (f failure) String() string {
	text := "pod " + f.FailedPod + " failed: " + f.Fault
	switch {
	case f.Rule != nil:
		return text + "; matched " + f.Rule.Action + " " + f.Rule.Text
	case f.policy:
		return text + "; no rule matched"
	}
	return text
}

// cut truncates a long list and says how many are missing.
func cut(list []string, most int, all bool) []string {
	if all || len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more (--all shows them)", len(list)-most))
}

// shortened truncates a long text.
func shortened(text string, all bool) string {
	if all || len(text) <= mostText {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:mostText], len(text))
}

// steps returns the lines about what the controller does next.
func (r *report) steps(all bool) []string {
	var out []string
	out = append(out, cut(mapped(r.Claims, claim.String), mostLines, all)...)
	out = append(out, cut(mapped(r.Deletions, deletion.String), mostLines, all)...)
	out = append(out, cut(mapped(r.Creations, creation.String), mostLines, all)...)
	out = appendChanges(out, "write the status", r.Status, all)
	strip := mapped(r.Finalizers, func(name string) string { return "remove the finalizer of pod " + name })
	out = append(out, cut(strip, mostLines, all)...)
	return appendChanges(out, "write the status again", r.Settled, all)
}

func appendChanges(lines []string, title string, changes []change, all bool) []string {
	if len(changes) == 0 {
		return lines
	}
	lines = append(lines, title)
	for _, c := range changes {
		if all || !strings.HasPrefix(c.Field, "uncountedTerminatedPods.") { // these are UIDs
			lines = append(lines, "  "+c.line(all))
		}
	}
	return lines
}

func (c claim) String() string {
	if c.Action == "free" {
		return "remove the finalizer of pod " + c.Pod + ", which has no owner"
	}
	return c.Action + " pod " + c.Pod
}

func (d deletion) String() string {
	text := "delete pod " + d.Pod + " (" + d.Cause + ")"
	if d.FinalizerFirst {
		text += ", after removing its finalizer"
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
		text += fmt.Sprintf(", failure count %d", *c.Failures)
	}
	if c.Ignored != nil && *c.Ignored > 0 {
		text += fmt.Sprintf(", ignored failure count %d", *c.Ignored)
	}
	return text
}

func podCount(n int) string { return count(n, "pod") }
