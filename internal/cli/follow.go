package cli

import (
	"fmt"
	"strings"
	"time"
)

// Follow prints how Jobs stand, again and again: on a terminal each text in place of
// the one before, and elsewhere one after the other.
type Follow struct {
	explain *Explain
	env     Environment
	size    func() (width, height int)
	above   int    // lines of a terminal that the last text takes
	last    string // that was printed
	reason  string
}

// Follow returns one that prints in an environment. The size is that of the terminal;
// nil: there is none.
func (x *Explain) Follow(env Environment, size func() (width, height int)) *Follow {
	if x.format != "text" {
		size = nil
	}
	return &Follow{explain: x, env: env, size: size}
}

// Show prints a view. Where texts follow each other, one is left out that says what the
// last one said, but for the time: if nothing has changed but the time, that which has
// the same reason.
func (f *Follow) Show(v *View, changed bool) error {
	if f.size == nil {
		return f.next(v, changed)
	}
	text, err := f.text(v)
	if err != nil {
		return err
	}
	width, height := f.size()
	return f.replace(fitting(text, width, height))
}

// End prints the last view, whole.
func (f *Follow) End(v *View) error {
	if f.size == nil {
		return f.next(v, true)
	}
	text, err := f.text(v)
	if err != nil {
		return err
	}
	return f.replace(strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
}

func (f *Follow) text(v *View) (string, error) {
	return f.explain.formatted(f.env, v.value(), func(p paint) string { return v.text(p, f.explain.all) })
}

func (f *Follow) next(v *View, changed bool) error {
	said := v.timeless()
	if f.last != "" && (said == f.last || !changed && v.Reason() == f.reason) {
		return nil
	}
	text, err := f.text(v)
	if err != nil {
		return err
	}
	switch {
	case f.explain.format == "yaml":
		text = "---\n" + text
	case f.explain.format == "text" && f.last != "":
		text = "\n" + text
	}
	f.last, f.reason = said, v.Reason()
	return f.env.print(text)
}

// timeless is what a view says, but for the time at which it says it.
func (v *View) timeless() string {
	var b strings.Builder
	for _, r := range v.reports {
		r := *r
		r.Now, r.RequeueSeconds = time.Time{}, 0
		b.Write(encode(&r))
	}
	fmt.Fprintf(&b, "%d %v", v.others, v.notes)
	return b.String()
}

// The movements of the cursor. A terminal that does not know how to hold back what it
// shows until a text is whole ignores that.
const (
	hold       = "\x1b[?2026h\x1b[?7l" // and do not wrap lines
	release    = "\x1b[?7h\x1b[?2026l"
	restOfLine = "\x1b[K"
	restBelow  = "\x1b[J"
)

// replace puts lines in place of those that were shown last, with one write.
func (f *Follow) replace(lines []string) error {
	var b strings.Builder
	b.WriteString(control(hold))
	if f.above > 0 {
		b.WriteString(control(fmt.Sprintf("\r\x1b[%dA", f.above)))
	}
	for _, line := range lines {
		b.WriteString(line + control(restOfLine) + "\n")
	}
	b.WriteString(control(restBelow + release))
	f.above = len(lines)
	return f.env.print(b.String())
}

// fitting returns the lines of a text, wrapped to a width, and the first of them when
// they are too many for a height.
func fitting(text string, width, height int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, wrapped(strings.TrimSuffix(line, "\n"), max(width, 1))...)
	}
	if most := max(height-1, 1); len(lines) > most {
		lines = append(lines[:most-1:most-1], fmt.Sprintf("… %d more lines", len(lines)-most+1))
	}
	return lines
}

// wrapped cuts a line into lines of at most width characters, as they are printed.
// What the terminal obeys takes no room.
func wrapped(line string, width int) (out []string) {
	var b strings.Builder
	used := 0
	for text, sequence := range pieces(line) {
		for _, r := range visible(text, escapeRune) {
			if used == width {
				out, used = append(out, b.String()), 0
				b.Reset()
			}
			b.WriteRune(r)
			used++
		}
		if sequence != "" {
			b.WriteString(control(sequence))
		}
	}
	return append(out, b.String())
}
