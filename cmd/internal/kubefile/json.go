package kubefile

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder returns a decoder that accepts the JSON that encoding/json accepts.
func decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
}

// names yields the names, in quotes, of the fields of an object. The caller reads each value. If the next value is
// not an object, it remains.
func names(d *jsontext.Decoder) iter.Seq[string] {
	return func(yield func(string) bool) {
		if d.PeekKind() == '{' {
			_, _ = d.ReadToken()
		}
		for d.StackDepth() > 0 && d.PeekKind() == '"' {
			if name, err := d.ReadValue(); err != nil || !yield(string(name)) {
				return
			}
		}
	}
}

// kindOf returns the kind that an object in JSON names, or else the given one.
func kindOf(text []byte, kind string) string {
	d := decoder(text)
	for name := range names(d) {
		if value, err := d.ReadValue(); err == nil && name == `"kind"` {
			return strings.Trim(string(value), `"`)
		}
	}
	return kind
}

// cut returns the first JSON value of a text, or nil if it is invalid. If the value is an object with a list of
// items, the items are cut out of the rest.
func cut(text []byte) (value, rest []byte, items []json.RawMessage) {
	d, start, end := decoder(text), 0, 0
	read := func() int { return len(text) - len(d.UnreadBuffer()) }
	for name := range names(d) {
		if name == `"items"` {
			items, start, end = nil, 0, 0
		}
		if name != `"items"` || d.PeekKind() != '[' {
			_, _ = d.ReadValue() // an invalid value remains, and the object does not end
			continue
		}
		_, _ = d.ReadToken()
		items, start = []json.RawMessage{}, read()
		for d.PeekKind() != ']' {
			item, err := d.ReadValue()
			if err != nil {
				return nil, nil, nil
			}
			items = append(items, text[read()-len(item):read()])
		}
		end = read()
		_, _ = d.ReadToken()
	}
	var err error
	if d.StackDepth() > 0 {
		_, err = d.ReadToken()
	} else {
		_, err = d.ReadValue()
	}
	if err != nil || d.StackDepth() > 0 {
		return nil, nil, nil
	}
	value, rest = text[:read()], text[:read()]
	if items != nil {
		rest = slices.Concat(text[:start], text[end:read()])
	}
	return value, rest, items
}
