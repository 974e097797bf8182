package kubefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is the whole text of a source, in UTF-8, with line feeds at the ends of lines.
type text struct {
	bytes []byte
	last  struct{ offset, line, column int } // what position found last, counted from 0
	// The part that was parsed last to find a field.
	parsed span
	root   *yaml.Node
}

// span is a part of a text.
type span struct{ start, end int }

// in returns the part of a text.
func (s span) in(text []byte) []byte { return text[s.start:s.end] }

// sniffed is how much of a source is read before it is checked for binary data:
// there are devices that never end.
const sniffed = 4 << 10

// readText reads a source to its end. UTF-8 and, with a byte order mark, UTF-16
// are understood; whatever else there is, is refused.
func readText(s Source) (*text, error) {
	t := &text{}
	b := bytes.NewBuffer(make([]byte, 0, s.Size+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(s, sniffed))
	if _, isText := decoded(b.Bytes()); err == nil && isText != errBinary { // it may end within a character
		_, err = b.ReadFrom(s)
	}
	if err == nil {
		t.bytes, err = decoded(b.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if !utf8.Valid(t.bytes) {
		line, column := t.position(bytes.IndexRune(t.bytes, utf8.RuneError))
		return nil, fmt.Errorf("%s:%d:%d: this is not UTF-8 text", s.Name, line, column)
	}
	if bytes.IndexByte(t.bytes, '\r') >= 0 {
		t.bytes = bytes.ReplaceAll(bytes.ReplaceAll(t.bytes, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	return t, nil
}

var errBinary = errors.New("this is binary data; want UTF-8 text, or UTF-16 with a byte order mark")

// decoded returns a text in UTF-8, without the byte order mark.
func decoded(text []byte) ([]byte, error) {
	marks := map[string]binary.ByteOrder{"\xFF\xFE": binary.LittleEndian, "\xFE\xFF": binary.BigEndian}
	if order := marks[string(text[:min(2, len(text))])]; order != nil {
		units := make([]uint16, len(text)/2)
		if n, err := binary.Decode(text, order, units); err != nil || n < len(text) {
			return nil, errors.New("the UTF-16 text ends within a character; has it been cut short?")
		}
		runes := utf16.Decode(units)
		if !slices.Equal(utf16.Encode(runes), units) {
			return nil, errors.New("the UTF-16 text has half of a surrogate pair")
		}
		text = []byte(string(runes))
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errBinary
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}

// position returns the line and the column of an offset, both counted from 1. It
// counts on from the last one: a text of a single line may have many objects.
func (t *text) position(offset int) (line, column int) {
	if offset < t.last.offset {
		t.last.offset, t.last.line, t.last.column = 0, 0, 0
	}
	passed := t.bytes[t.last.offset:offset]
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		t.last.line += bytes.Count(passed, []byte("\n"))
		t.last.column, passed = 0, passed[i+1:]
	}
	t.last.offset = offset
	t.last.column += utf8.RuneCount(passed)
	return t.last.line + 1, t.last.column + 1
}

var marker = regexp.MustCompile(`^(---|\.\.\.)(\s|$)`)

// documents cuts a text at the lines at which YAML documents begin or end, whatever
// a parser is in the middle of. No JSON value goes on over such a line.
func (t *text) documents() (out []span) {
	var d span
	for line := range bytes.Lines(t.bytes) {
		if (line[0] == '-' || line[0] == '.') && marker.Match(line) {
			out = append(out, d)
			d.start = d.end + len("---")
			if len(bytes.TrimSpace(line)) == len("---") {
				d.start = d.end + len(line)
			}
		}
		d.end += len(line)
	}
	return append(out, d)
}
