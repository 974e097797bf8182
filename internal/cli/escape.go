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

// What a terminal obeys stands between these two bytes, which no text has: input
// and arguments are UTF-8. Whatever else a terminal might obey is escaped.
const (
	controlStart = "\xFF"
	controlEnd   = "\xFE"
)

// control returns a sequence that safeWriter passes on.
func control(sequence string) string { return controlStart + sequence + controlEnd }

// safeWriter stands between the command and the terminal. Names, reasons, messages
// and file names come from others, and could move the cursor, change what was
// written before, or turn text around.
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

// pieces divides what is printed into texts, each with the sequence that follows it.
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

// utf8Only replaces what is not UTF-8, as it may come from a network, and with it the
// bytes that mark what a terminal obeys.
func utf8Only(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// harmless reports whether a character only shows itself.
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

// escapeRune escapes a character as YAML does within double quotes.
func escapeRune(r rune) string {
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escapeJSON escapes a character as JSON does.
func escapeJSON(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return escapeRune(high) + escapeRune(low)
	}
	return escapeRune(r)
}
