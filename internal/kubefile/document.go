package kubefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ReadDocument reads a source that is a single document, and hands its JSON to
// decode. What decode does not take is narrowed down, and the error says on which
// line it stands. want is what an error says should be there.
func ReadDocument(s Source, want string, decode func([]byte) error) (Place, error) {
	all, err := chunks(s)
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", s.Name, err)
	}
	var found []document
	for _, c := range all {
		documents, err := c.documents()
		if err != nil {
			return Place{}, fmt.Errorf("%s: %w", s.Name, err)
		}
		found = append(found, documents...)
	}
	switch len(found) {
	case 0:
		return Place{}, fmt.Errorf("%s: it is empty; want %s", s.Name, want)
	case 1:
	default:
		return Place{}, fmt.Errorf("%s:%d: a second document; want %s", s.Name, found[1].text.lineOf(""), want)
	}
	at := Place{File: s.Name, Document: 1, text: found[0].text}
	h, err := readHeader(found[0].value, at, want)
	switch {
	case err != nil:
		return at, err
	case h.Kind != "":
		return at, object{header: h, at: at}.check(want)
	}
	if err := decode(found[0].value); err != nil {
		path, err := narrowed(found[0].value, err, decode)
		if path != "" {
			path += ": "
		}
		return at, fmt.Errorf("%s: %s%s", at.At(strings.TrimSuffix(path, ": ")), path, plain(err))
	}
	return at, nil
}

// narrowed returns the path of the smallest part of a document that decode does
// not take, were it alone, and the error then.
func narrowed(document json.RawMessage, err error, decode func([]byte) error) (string, error) {
	var value any
	if json.Unmarshal(document, &value) != nil {
		return "", err
	}
	n := narrowing{decode: decode, err: err}
	return n.within(value, "", func(part any) any { return part }), n.err
}

type narrowing struct {
	decode func([]byte) error
	err    error
}

// within narrows down to a part of a value; whole makes a document of a part.
func (n *narrowing) within(value any, path string, whole func(any) any) string {
	switch v := value.(type) {
	case map[string]any:
		if n.fails(whole(map[string]any{})) {
			return path // it is no place for an object
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := func(part any) any { return whole(map[string]any{name: part}) }
			if n.fails(inner(v[name])) {
				return n.within(v[name], strings.TrimPrefix(path+"."+name, "."), inner)
			}
		}
	case []any:
		if n.fails(whole([]any{})) {
			return path
		}
		for i := range v {
			inner := func(part any) any { return whole([]any{part}) }
			if n.fails(inner(v[i])) {
				return n.within(v[i], fmt.Sprintf("%s[%d]", path, i), inner)
			}
		}
	}
	return path
}

func (n *narrowing) fails(document any) bool {
	text, _ := json.Marshal(document) // it was JSON before
	err := n.decode(text)
	if err != nil {
		n.err = err
	}
	return err != nil
}

var decoderNoise = regexp.MustCompile(`^(error unmarshaling JSON: )?(while decoding JSON: )?(json: )?|Go (struct field \S+|value) of type `)

// plain returns an error of a decoder without what is no use to a reader.
func plain(err error) string { return decoderNoise.ReplaceAllString(err.Error(), "") }
