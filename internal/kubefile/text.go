package kubefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text is the whole text of a source, in UTF-8.
type text struct {
	name   string
	bytes  []byte
	breaks []int  // where lines begin, once a line is asked for
	parsed parsed // what was parsed last to find a field
}

// span is a part of a text.
type span struct{ start, end int }

// sniffed is how much of a source is read before it is checked for binary data:
// there are devices that never end.
const sniffed = 4 << 10

// readText reads a source to its end. UTF-8 and, with a byte order mark, UTF-16
// are understood; whatever else there is, is refused.
func readText(s Source) (*text, error) {
	var b bytes.Buffer
	b.Grow(s.Size + bytes.MinRead)
	_, err := io.CopyN(&b, s, sniffed)
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
		offset := strings.IndexRune(string(t.bytes), utf8.RuneError)
		line, column := t.position(offset)
		return nil, fmt.Errorf("%s:%d:%d: this is not UTF-8 text", s.Name, line, column)
	}
	return t, nil
}

// decoded returns a text in UTF-8, without the byte order mark.
func decoded(text []byte) ([]byte, error) {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(text, []byte("\xFF\xFE")):
		order = binary.LittleEndian
	case !bytes.HasPrefix(text, []byte("\xFE\xFF")):
		return bytes.TrimPrefix(text, byteOrderMark), checkBinary(text)
	}
	if len(text)%2 != 0 {
		return nil, errors.New("the UTF-16 text ends within a character; has it been cut short?")
	}
	units := make([]uint16, len(text)/2-1)
	for i := range units {
		units[i] = order.Uint16(text[2*i+2:])
	}
	out := []byte(string(utf16.Decode(units)))
	return out, checkBinary(out)
}

var byteOrderMark = []byte("\uFEFF")

// checkBinary refuses NUL bytes, which no text has.
func checkBinary(text []byte) error {
	if bytes.IndexByte(text, 0) >= 0 {
		return errors.New("this is binary data; want UTF-8 text, or UTF-16 with a byte order mark")
	}
	return nil
}

// position returns the line and the column of an offset, both counted from 1.
func (t *text) position(offset int) (line, column int) {
	if t.breaks == nil {
		t.breaks = []int{0}
		for i, b := range t.bytes {
			if b == '\n' {
				t.breaks = append(t.breaks, i+1)
			}
		}
	}
	line, found := slices.BinarySearch(t.breaks, offset)
	if found {
		line++
	}
	return line, utf8.RuneCount(t.bytes[t.breaks[line-1]:offset]) + 1
}

// part is what stands between two separators: YAML, or JSON values. Either is
// read to its end by its parser, which finds all the documents in it.
type part struct {
	span
	json bool
}

// parts cuts a text at the lines that explicitly begin a YAML document. There a
// document ends whatever the parser is in the middle of, and no JSON value goes on
// over such a line, so that nothing is cut that belongs together.
func (t *text) parts() (out []part) {
	for at := 0; at < len(t.bytes); {
		p := part{span: span{at, t.nextMarker(at, "---")}}
		content := bytes.TrimLeft(bytes.TrimPrefix(t.bytes[at:p.end], []byte("---")), space)
		content = bytes.TrimLeft(bytes.TrimPrefix(content, byteOrderMark), space)
		at = p.end
		if bytes.HasPrefix(content, []byte("{")) {
			p.json, p.start = true, p.end-len(content)
			if p.end = t.nextMarker(p.start, "..."); p.end < at {
				at = p.end + len("...")
			}
			p.end = min(p.end, at)
		}
		out = append(out, p)
	}
	return out
}

const space = " \t\r\n"

// nextMarker returns where the first line begins that follows an offset and has
// a marker, or the end of the text.
func (t *text) nextMarker(offset int, marker string) int {
	for at := offset; ; {
		n := bytes.Index(t.bytes[at:], []byte("\n"+marker))
		if n < 0 {
			return len(t.bytes)
		}
		at += n + 1
		if after := at + len(marker); after == len(t.bytes) || strings.IndexByte(space, t.bytes[after]) >= 0 {
			return at
		}
	}
}
