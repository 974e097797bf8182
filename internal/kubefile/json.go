package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	kjson "sigs.k8s.io/json"
)

// json reads a part that holds JSON values, one after the other.
func (r *reader) json(p span) error {
	p.end = p.start + len(bytes.TrimRight(r.text.bytes[p.start:p.end], space))
	for {
		p.start = p.end - len(bytes.TrimLeft(r.text.bytes[p.start:p.end], space))
		if p.start == p.end {
			return nil
		}
		at := r.nextPlace(p, 0)
		var d struct {
			header
			Items []json.RawMessage `json:"items"`
		}
		length, err := decodeFirst(r.text.bytes[p.start:p.end], &d)
		if isSyntax(err) {
			return r.syntaxError(err, at)
		}
		p.start += length
		at.part.end = p.start
		o := object{header: d.header, json: r.text.bytes[at.part.start:at.part.end], at: at}
		if err := r.document(o, err == nil, r.jsonItems(d.Items, at)); err != nil {
			return err
		}
	}
}

// decodeFirst decodes the first of the JSON values in a text and returns its
// length. Most often there is only one, and then the text need not be copied.
func decodeFirst(text []byte, into any) (length int, err error) {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, into); !isSyntax(err) {
		return len(text), err
	}
	decoder := kjson.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(text))
	err = decoder.Decode(into)
	return int(decoder.InputOffset()), err
}

// isSyntax reports whether an error says that a text is not JSON.
func isSyntax(err error) bool {
	syntax, _ := kjson.SyntaxErrorOffset(err)
	return syntax || errors.Is(err, io.ErrUnexpectedEOF)
}

// jsonItems returns the items of a JSON list.
func (r *reader) jsonItems(raw []json.RawMessage, at Place) iter.Seq[object] {
	return func(yield func(object) bool) {
		for i, o := range inOrder(len(raw), func(i int) object { return newObject(raw[i]) }) {
			o.at = at
			o.at.part.start = at.part.start + bytes.Index(r.text.bytes[at.part.start:], raw[i])
			o.at.part.end = o.at.part.start + len(raw[i])
			at.part.start = o.at.part.end
			r.progress("JSON", at.part.start, len(r.text.bytes))
			if !yield(o) {
				return
			}
		}
	}
}

// syntaxError adds the line to an error of the JSON parser. The decoder does not
// know the offset within all that it has read, so the document is parsed again.
func (r *reader) syntaxError(err error, at Place) error {
	value := r.text.bytes[at.part.start:at.part.end]
	offset := len(value)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, new(present))
		_, n := kjson.SyntaxErrorOffset(err)
		offset = max(0, int(n)-1)
	}
	line, _ := r.text.position(at.part.start + offset)
	return fmt.Errorf("%s: line %d: %w", at, line, err)
}
