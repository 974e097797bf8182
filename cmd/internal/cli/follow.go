package cli

import (
	"fmt"
	"strings"
	"time"
)

// Follow prints views of Jobs repeatedly. On a terminal each view replaces the previous one;
// elsewhere views follow each other.
type Follow struct {
	explain *Explain
	env     Environment
	size    func() (width, height int)
	above   int    // lines of the terminal that the last view takes
	last    string // the last printed view, without its time
	reason  string
}

// Follow returns a Follow that prints to the environment. size returns the size of the
// terminal; it is nil if there is no terminal.
func (x *Explain) Follow(env Environment, size func() (width, height int)) *Follow {
	if x.format != "text" {
		size = nil
	}
	return &Follow{explain: x, env: env, size: size}
}

// Show prints a view. If views follow each other, it omits a view that differs from the last
// one only in its time. If nothing but the time has changed in the cluster, it also omits a
// view with the same reason.
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

// End prints the last view completely, even if it does not fit the terminal.
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

// timeless returns the content of a view without its time.
func (v *View) timeless() string {
	var b strings.Builder
	for _, r := range v.reports {
		r := *r
		r.Now, r.RequeueSeconds = time.Time{}, 0
		b.Write(encode(&r))
	}
	for _, c := range v.crons {
		c := *c
		c.Now = time.Time{}
		b.Write(encode(&c))
	}
	fmt.Fprintf(&b, "%d %v", v.others, v.notes)
	return b.String()
}

// The terminal sequences. A terminal without synchronized output ignores hold and release.
const (
	hold       = "\x1b[?2026h\x1b[?7l" // delay the display, and do not wrap lines
	release    = "\x1b[?7h\x1b[?2026l"
	restOfLine = "\x1b[K"
	restBelow  = "\x1b[J"
)

// replace replaces the lines of the last view, in one write.
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

// fitting returns the lines of a text, wrapped to the width and truncated to the height.
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

// wrapped splits a line into lines of at most width printed characters. Terminal sequences
// have no width.
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
