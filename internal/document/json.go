package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// readJSON reads JSON values that stand one after the other.
func (r *reader) readJSON(values span) error {
	values.end = values.start + len(bytes.TrimRight(r.bytes[values.start:values.end], space))
	for {
		rest := bytes.TrimLeft(r.bytes[values.start:values.end], space)
		if len(rest) == 0 {
			return nil
		}
		start := values.end - len(rest)
		d, err := newDocument(rest)
		if err != nil && !json.Valid(rest) { // there are several values, or it is wrong
			var length int
			length, err = firstValue(rest)
			d, _ = newDocument(rest[:length])
			if err != nil {
				line, _ := r.position(start + length)
				return fmt.Errorf("%s: line %d: %w", r.place(values), line, err)
			}
		}
		values.start = start + len(d.JSON)
		d.Place = r.place(span{start, values.start})
		item := d.Place
		item.part.end = start
		d.ItemAt = func(json []byte) Place {
			item.Item++
			item.part.start = item.part.end + bytes.Index(r.bytes[item.part.end:], json)
			item.part.end = item.part.start + len(json)
			r.progress("JSON", item.part.end, len(r.bytes))
			return item
		}
		if err := r.f(d); err != nil {
			return err
		}
	}
}

// firstValue returns the length of the first JSON value of a text, or where it goes
// wrong.
func firstValue(text []byte) (length int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	err = decoder.Decode(new(json.RawMessage))
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return int(decoder.InputOffset()), nil
	case errors.As(err, &syntax):
		return int(syntax.Offset) - 1, err
	}
	return len(text), err
}
