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
)

// part is a part of the text of a source, with its position.
type part struct {
	text                 []byte
	offset, line, column int // line and column count from 1
}

// cut cuts a part in two.
func (p part) cut(at int) (before, after part) {
	before, after = p, p
	before.text, after.text = p.text[:at], p.text[at:]
	after.offset += at
	lineStart := bytes.LastIndexByte(before.text, '\n') + 1
	if lineStart > 0 {
		after.line, after.column = p.line+bytes.Count(before.text, []byte("\n")), 1
	}
	after.column += utf8.RuneCount(before.text[lineStart:])
	return before, after
}

// space is what may surround a JSON value; files that are joined may have several byte order
// marks.
const space = " \t\n\uFEFF"

var marker = regexp.MustCompile(`^((?:---|\.\.\.)(?:\s*$)?)(?:\s|$)`)

// documents cuts a text at the lines that begin or end a YAML document, even within a
// construct of YAML. No JSON value contains such a line.
func (p part) documents() (out []part) {
	end := 0
	for line := range bytes.Lines(p.text) {
		if line[0] == '-' || line[0] == '.' {
			if mark := marker.FindSubmatch(line); mark != nil {
				document, rest := p.cut(end)
				_, p = rest.cut(len(mark[1]))
				out, end = append(out, document), -len(mark[1])
			}
		}
		end += len(line)
	}
	return append(out, p)
}

// readText reads a source to its end, and converts all line ends to line feeds. The text must
// be UTF-8, or UTF-16 with a byte order mark.
func readText(s Source) (part, error) {
	const sniffed = 4 << 10 // check the beginning first: some devices never end
	b := bytes.NewBuffer(make([]byte, 0, s.Size+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(s, sniffed))
	if _, isText := decoded(b.Bytes()); err == nil && isText != errBinary { // the beginning may end within a character
		_, err = b.ReadFrom(s)
	}
	whole := part{line: 1, column: 1}
	if err == nil {
		whole.text, err = decoded(b.Bytes())
	}
	if err != nil {
		return part{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	if !utf8.Valid(whole.text) {
		_, wrong := whole.cut(bytes.IndexRune(whole.text, utf8.RuneError))
		return part{}, fmt.Errorf("%s:%d:%d: this is not UTF-8 text", s.Name, wrong.line, wrong.column)
	}
	if bytes.IndexByte(whole.text, '\r') >= 0 {
		whole.text = bytes.ReplaceAll(bytes.ReplaceAll(whole.text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	return whole, nil
}

var errBinary = errors.New("this is binary data; want UTF-8 text, or UTF-16 with a byte order mark")

// decoded returns a text as UTF-8, without the byte order mark.
func decoded(text []byte) ([]byte, error) {
	marks := map[string]binary.ByteOrder{"\xFF\xFE": binary.LittleEndian, "\xFE\xFF": binary.BigEndian}
	if order := marks[string(text[:min(2, len(text))])]; order != nil {
		units := make([]uint16, len(text)/2)
		n, err := binary.Decode(text, order, units)
		runes := utf16.Decode(units)
		if err != nil || n < len(text) || !slices.Equal(utf16.Encode(runes), units) {
			return nil, errors.New("the UTF-16 text has half of a character; is the input truncated?")
		}
		text = []byte(string(runes))
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errBinary
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}
