package kubefile

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// scanner cuts a JSON text into its values without decoding them. It only knows strings and brackets, so a text
// that is invalid is found when its values are decoded.
type scanner struct{ rest []byte }

const space = " \t\r\n"

// plain marks the bytes that neither begin nor end a value within a list or an object.
var plain = func() (plain [256]bool) {
	for i := range plain {
		plain[i] = bytes.IndexByte([]byte(`"{}[]`), byte(i)) < 0
	}
	return plain
}()

// value returns the next value.
func (s *scanner) value() []byte {
	text, i := s.rest, 0
	for depth := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth > 0:
			for i+1 < len(text) && plain[text[i+1]] {
				i++
			}
		default: // a number or a name
			if n := bytes.IndexAny(text[i+1:], space+`,:"{}[]`); n >= 0 {
				i += n
			} else {
				i = len(text) - 1
			}
		}
		if depth <= 0 {
			i++
			break
		}
	}
	i = min(i, len(text))
	s.rest = bytes.TrimLeft(text[i:], space)
	return text[:i]
}

// at reports whether the next byte is c.
func (s *scanner) at(c byte) bool { return len(s.rest) > 0 && s.rest[0] == c }

// is reports whether the next byte is c, which it skips.
func (s *scanner) is(c byte) bool {
	is := s.at(c)
	if is {
		s.rest = bytes.TrimLeft(s.rest[1:], space)
	}
	return is
}

// fields yields the names, in quotes, and the values of a JSON object.
func fields(text []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		s := scanner{text}
		for more := s.is('{'); more; more = s.is(',') {
			name := s.value()
			if !s.is(':') || !yield(string(name), s.value()) {
				return
			}
		}
	}
}

// kindOf returns the kind that an object in JSON names, or else the given one.
func kindOf(text []byte, kind string) string {
	for name, value := range fields(text) {
		if name == `"kind"` {
			return strings.Trim(string(value), `"`)
		}
	}
	return kind
}

// list cuts a list into its items. The rest of the list is parsed without them. If the next value is not a list,
// it returns no items, and the value remains.
func (s *scanner) list() (list object, items []json.RawMessage) {
	text, rest, start, end := s.rest, *s, 0, 0
	for more := rest.is('{'); more; more = rest.is(',') {
		name := rest.value()
		if found := rest.is(':'); !found {
			return object{}, nil
		}
		if string(name) != `"items"` {
			rest.value()
			continue
		}
		if items != nil || !rest.is('[') {
			return object{}, nil
		}
		start, items = len(text)-len(rest.rest), []json.RawMessage{}
		for more := !rest.at(']'); more; more = rest.is(',') {
			items = append(items, rest.value())
		}
		end = len(text) - len(rest.rest)
		if !rest.is(']') {
			return object{}, nil
		}
	}
	if items == nil || !rest.is('}') {
		return object{}, nil
	}
	whole := text[:len(text)-len(rest.rest)]
	list = newObject(slices.Concat(whole[:start], whole[end:]), "JSON", "")
	if list.wrong != nil || !list.isList() {
		return object{}, nil
	}
	list.json, *s = bytes.TrimSpace(whole), rest
	return list, items
}
