// Package textfile reads text in the encodings that shells write.
package textfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

var errBinary = errors.New("this is binary data; want UTF-8 text, or UTF-16 with a byte order mark")

// Read reads a text of about size bytes, or of unknown size if size is 0. The text must be
// UTF-8, or UTF-16 with a byte order mark. The result is UTF-8 without a mark, in which all lines
// end with line feeds.
func Read(r io.Reader, size int) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	// check the beginning first: some devices never end
	_, err := b.ReadFrom(io.LimitReader(r, 4<<10))
	if _, wrong := decode(b.Bytes()); err == nil && wrong != errBinary { // the beginning may end within a character
		_, err = b.ReadFrom(r)
	}
	text, wrong := decode(b.Bytes())
	if err = cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	if !utf8.Valid(text) {
		before := text[:bytes.IndexRune(text, utf8.RuneError)]
		column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		return nil, fmt.Errorf("line %d, column %d: this is not UTF-8 text",
			bytes.Count(before, []byte("\n"))+1, column)
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	return text, nil
}

// decode returns a text as UTF-8, without the byte order mark.
func decode(text []byte) ([]byte, error) {
	marks := map[string]binary.ByteOrder{"\xFF\xFE": binary.LittleEndian, "\xFE\xFF": binary.BigEndian}
	if order := marks[string(text[:min(2, len(text))])]; order != nil {
		units := make([]uint16, (len(text)+1)/2)
		_, err := binary.Decode(text, order, units)
		runes := utf16.Decode(units)
		if err != nil || !slices.Equal(utf16.Encode(runes), units) {
			return nil, errors.New("the UTF-16 text has half of a character; is the input truncated?")
		}
		text = []byte(string(runes))
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errBinary
	}
	return bytes.TrimPrefix(text, []byte("\uFEFF")), nil
}
