package kubefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// ReadDocument reads a source that is a single document, and hands its JSON to
// decode. What decode does not take is narrowed down, and the error says on which
// line it stands. want is what an error says should be there.
func ReadDocument(s Source, want string, decode func([]byte) error) (Place, error) {
	var found []object
	err := each(s, want, func(o object) error {
		found = append(found, o)
		if len(found) > 1 {
			return fmt.Errorf("%s: a second document; want %s", o.at.At(""), want)
		}
		return nil
	})
	switch {
	case err != nil:
		return Place{}, err
	case len(found) == 0:
		return Place{}, fmt.Errorf("%s: an empty list; want %s", s.Name, want)
	}
	o := found[0]
	if o.json[0] != '{' {
		return o.at, fmt.Errorf("%s is not an object; want %s", o.at, want)
	}
	if o.Kind != "" {
		return o.at, fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
	}
	if err := decode(o.json); err != nil {
		return o.at, problemsIn(o.json, err, decode)[0].at(o.at)
	}
	return o.at, nil
}

// Problem is why a field of an object cannot be read. The field is empty when it
// is the object as a whole.
type Problem struct{ Field, Message string }

// at returns the problem as an error of the object at a place.
func (p Problem) at(at Place) error {
	if p.Field == "" {
		return fmt.Errorf("%s: %s", at.At(""), p.Message)
	}
	return fmt.Errorf("%s: %s: %s", at.At(p.Field), p.Field, p.Message)
}

// mostProblems is how many problems of an object are looked for.
const mostProblems = 100

// problemsIn returns the smallest parts of a document that decode does not take,
// were each alone. There is one at least.
func problemsIn(document []byte, err error, decode func([]byte) error) []Problem {
	n := narrowing{decode: decode}
	var value any
	if kjson.UnmarshalCaseSensitivePreserveInts(document, &value) == nil {
		n.within(value, "", err, func(part any) any { return part })
	}
	if len(n.found) == 0 {
		return []Problem{{Message: plain(err)}}
	}
	return n.found
}

type narrowing struct {
	decode func([]byte) error
	found  []Problem
}

// within narrows an error down to parts of a value; whole makes a document of a
// part.
func (n *narrowing) within(value any, path string, err error, whole func(any) any) {
	before := len(n.found)
	switch v := value.(type) {
	case map[string]any:
		if wrong := n.try(whole(map[string]any{})); wrong != nil {
			err = wrong // it is no place for an object
			break
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			n.part(v[name], strings.TrimPrefix(path+"."+name, "."), func(part any) any { return whole(map[string]any{name: part}) })
		}
	case []any:
		if wrong := n.try(whole([]any{})); wrong != nil {
			err = wrong
			break
		}
		for i := range v {
			n.part(v[i], fmt.Sprintf("%s[%d]", path, i), func(part any) any { return whole([]any{part}) })
		}
	}
	if len(n.found) == before {
		n.found = append(n.found, Problem{path, plain(err)})
	}
}

func (n *narrowing) part(value any, path string, whole func(any) any) {
	if len(n.found) >= mostProblems {
		return
	}
	if err := n.try(whole(value)); err != nil {
		n.within(value, path, err, whole)
	}
}

func (n *narrowing) try(document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return n.decode(text)
}

var decoderNoise = regexp.MustCompile(`^(error unmarshaling JSON: )?(while decoding JSON: )?(json: )?|Go (struct field \S+|value) of type `)

// plain returns an error of a decoder without what is no use to a reader.
func plain(err error) string { return decoderNoise.ReplaceAllString(err.Error(), "") }
