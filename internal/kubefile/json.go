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
	data := r.text.bytes[p.start:p.end]
	decoder := kjson.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(data))
	for {
		start := len(data) - len(bytes.TrimLeft(data[decoder.InputOffset():], space))
		if start == len(data) {
			return nil
		}
		at := r.nextPlace(span{p.start + start, p.end}, 0)
		var d struct {
			header
			Items []json.RawMessage `json:"items"`
		}
		err := decoder.Decode(&d)
		if syntax, _ := kjson.SyntaxErrorOffset(err); syntax || errors.Is(err, io.ErrUnexpectedEOF) {
			return r.syntaxError(err, at)
		}
		at.part.end = p.start + int(decoder.InputOffset())
		o := object{header: d.header, json: r.text.bytes[at.part.start:at.part.end], at: at}
		if err := r.document(o, err == nil, r.jsonItems(d.Items, at)); err != nil {
			return err
		}
	}
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
	value := bytes.TrimRight(r.text.bytes[at.part.start:at.part.end], space)
	offset := len(value)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		err = kjson.UnmarshalCaseSensitivePreserveInts(value, new(present))
		_, n := kjson.SyntaxErrorOffset(err)
		offset = max(0, int(n)-1)
	}
	line, _ := r.text.position(at.part.start + offset)
	return fmt.Errorf("%s: line %d: %w", at, line, err)
}
