package cli

import (
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The command's own terminal sequences stand between these two bytes, which no text
// contains: input and arguments are UTF-8. All other control characters are escaped.
const (
	controlStart = "\xFF"
	controlEnd   = "\xFE"
)

// control marks a terminal sequence, which safeWriter then writes unescaped.
func control(sequence string) string { return controlStart + sequence + controlEnd }

// safeWriter escapes output. Names, reasons, messages and file names come from other
// parties. They could move the cursor, overwrite earlier output or reverse text.
type safeWriter struct{ io.Writer }

func (w safeWriter) Write(p []byte) (int, error) {
	var b strings.Builder
	for text, sequence := range pieces(string(p)) {
		b.WriteString(visible(text, escapeRune) + sequence)
	}
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// lineBreaks escapes what safeWriter leaves, because the layout of the output needs it.
var lineBreaks = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// inLine returns text of the input as it is printed within a line, for layouts that depend on its width.
func inLine(text string) string { return visible(lineBreaks.Replace(text), escapeRune) }

// write is fmt.Fprintf for lines with text from the input, which must not begin a line of its own.
// Only the format has line breaks.
func write(w io.Writer, format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = lineBreaks.Replace(arg)
		case fmt.Stringer:
			args[i] = lineBreaks.Replace(arg.String())
		}
	}
	fmt.Fprintf(w, format, args...)
}

// pieces splits output into texts, each with the terminal sequence that follows it.
func pieces(all string) iter.Seq2[string, string] {
	return func(yield func(text, sequence string) bool) {
		for all != "" {
			text, after, found := strings.Cut(all, controlStart)
			sequence, after, closed := strings.Cut(after, controlEnd)
			if !found || !closed {
				sequence = ""
			}
			if all = after; !yield(text, sequence) {
				return
			}
		}
	}
}

// utf8Only replaces bytes that are not UTF-8, among them the marks of terminal sequences.
// Text from the network may contain both.
func utf8Only(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// harmless reports whether a character has no other effect on a terminal than its display.
func harmless(r rune) bool { return r == '\n' || r == '\t' || strconv.IsPrint(r) }

// visible escapes all characters that are not harmless.
func visible(text string, escape func(rune) string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !harmless(r) }) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text { // a byte that is not UTF-8 is a replacement character
		if harmless(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(escape(r))
		}
	}
	return b.String()
}

// escapeRune escapes a character as in YAML double quotes.
func escapeRune(r rune) string {
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escapeJSON escapes a character as in a JSON string.
func escapeJSON(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return escapeRune(high) + escapeRune(low)
	}
	return escapeRune(r)
}
