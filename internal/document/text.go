package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// text is the whole text of a source, in UTF-8, with line feeds at the ends of lines.
type text struct {
	name  string
	bytes []byte
	last  struct{ offset, line, column int } // what position found last, counted from 0
	// What was parsed last to find a field.
	parsed struct {
		part span
		root *yaml.Node
	}
}

// span is a part of a text.
type span struct{ start, end int }

// sniffed is how much of a source is read before it is checked for binary data:
// there are devices that never end.
const sniffed = 4 << 10

// readText reads a source to its end. UTF-8 and, with a byte order mark, UTF-16
// are understood; whatever else there is, is refused.
func readText(s Source) (*text, error) {
	b := bytes.NewBuffer(make([]byte, 0, s.Size+bytes.MinRead))
	_, err := io.CopyN(b, s, sniffed)
	if err == nil {
		if _, err = decoded(b.Bytes()); err == nil {
			_, err = b.ReadFrom(s)
		}
	}
	t := &text{name: s.Name}
	if err == nil || errors.Is(err, io.EOF) {
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

// decoded returns a text in UTF-8, without the byte order mark.
func decoded(text []byte) ([]byte, error) {
	marks := map[string]binary.ByteOrder{"\xFF\xFE": binary.LittleEndian, "\xFE\xFF": binary.BigEndian}
	if order := marks[string(text[:min(2, len(text))])]; order != nil {
		units := make([]uint16, len(text)/2)
		if n, err := binary.Decode(text, order, units); err != nil || n < len(text) {
			return nil, errors.New("the UTF-16 text ends within a character; has it been cut short?")
		}
		text = []byte(string(utf16.Decode(units)))
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("this is binary data; want UTF-8 text, or UTF-16 with a byte order mark")
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}

// position returns the line and the column of an offset, both counted from 1.
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

// split cuts a text at the lines at which YAML documents begin or end, whatever
// a parser is in the middle of. No JSON value goes on over such a line.
func (t *text) split() (out []span) {
	var d span
	for line := range bytes.Lines(t.bytes) {
		if (line[0] == '-' || line[0] == '.') && marker.Match(line) {
			out = append(out, d)
			d.start = d.end
			if line[0] == '.' {
				d.start += len("...")
			}
		}
		d.end += len(line)
	}
	return append(out, d)
}

const space = " \t\n\uFEFF"

// jsonValues returns where the JSON values of a document start; false if it is YAML.
func (t *text) jsonValues(d span) (span, bool) {
	values := bytes.TrimLeft(bytes.TrimPrefix(t.bytes[d.start:d.end], []byte("---")), space)
	return span{d.end - len(values), d.end}, bytes.HasPrefix(values, []byte("{"))
}
