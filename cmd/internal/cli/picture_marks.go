package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// The marks of a panel.
const (
	mostMarks  = 12 // with a text
	mostReason = 80 // characters of a text
)

// mark is an event of the scenario, or the conditions that changed at one time.
type mark struct {
	at    simulation.Time
	event bool
	text  string
	title string
}

// marks returns the marks with a text, in the order of time, and the number of marks that
// get no text.
func (n *panel) marks() (out []mark, more int) {
	for _, c := range n.t.Conditions {
		kind, reason := c.Type, c.Reason
		if c.Status != "True" {
			kind += " " + c.Status
		}
		last := len(out) - 1
		if last < 0 || out[last].at != c.At {
			out = append(out, mark{at: c.At, text: kind + ": " + reason, title: c.Message})
			continue
		}
		if before, ok := strings.CutSuffix(out[last].text, ": "+reason); ok {
			out[last].text = before + ", " + kind + ": " + reason
			continue
		}
		out[last].text += ", " + kind + ": " + reason
		out[last].title += "; " + c.Message
	}
	for _, e := range n.t.Happened {
		out = append(out, mark{at: e.At, event: true, text: e.Text, title: e.Text})
	}
	slices.SortStableFunc(out, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.at, b.at), -strings.Compare(fmt.Sprint(a.event), fmt.Sprint(b.event)))
	})
	if more = len(out) - mostMarks; more <= 0 {
		return out, 0
	}
	return append(slices.Clip(out[:mostMarks/2]), out[len(out)-mostMarks/2:]...), more
}

// drawMarks draws the marks, each with a line of text above the lanes.
func (n *panel) drawMarks(y, foot float64, marks []mark) {
	for i, m := range marks {
		x, at := n.x(m.at), y+lineHeight*float64(i)
		n.element(`<path class="mark" d="M%.1f %.1fV%.1f"/>`, x, at+1, foot)
	}
	if len(marks) == mostMarks { // there may be more, without a text
		for _, e := range n.t.Happened[:min(len(n.t.Happened), 1000)] {
			n.eventSign(n.x(e.At), n.top-5)
		}
	}
	for i, m := range marks {
		x, at := n.x(m.at), y+lineHeight*float64(i)
		sign := n.conditionSign
		if m.event {
			sign = n.eventSign
		}
		sign(x, at-4)
		anchor, dx := "start", 8.0
		if x > pictureWidth/2 {
			anchor, dx = "end", -8.0
		}
		fmt.Fprintf(n, `<text class="halo" x="%.1f" y="%.1f" text-anchor="%s">%s<title>%s</title></text>`+"\n",
			x+dx, at, anchor, escaped(cutText(m.at.String()+" "+m.text, mostReason)), escaped(m.title))
	}
}
