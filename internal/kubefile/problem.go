package kubefile

import (
	gojson "encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/internal/document"
)

// ReadDocument reads a source that is a single document, and hands its JSON to
// decode. What decode does not take is narrowed down, and the error says on which
// line it stands. want is what an error says should be there.
func ReadDocument(s Source, want string, decode func([]byte) error) (Place, error) {
	var found object
	err := each(s, want, func(o object) error {
		switch {
		case found.json != nil:
			return fmt.Errorf("%s: a second document; want %s", o.at.At(""), want)
		case o.pod == nil && o.json[0] != '{':
			return fmt.Errorf("%s is not an object; want %s", o.at, want)
		case o.Kind != "":
			return fmt.Errorf("%s is a %s; want %s", o.at, o.Kind, want)
		}
		found = o
		return nil
	})
	if err == nil && found.json == nil {
		err = fmt.Errorf("%s: an empty list; want %s", s.Name, want)
	}
	if err != nil {
		return Place{}, err
	}
	return found.at, firstOf(problemsIn(found.json, decode(found.json), decode), found.at)
}

// Problem is why a field of an object cannot be read. The field is empty when it
// is the object as a whole.
type Problem struct{ Field, Message string }

// firstOf returns the first of the problems of an object, with its place.
func firstOf(problems []Problem, at Place) error {
	if len(problems) == 0 {
		return nil
	}
	p := problems[0]
	if p.Field == "" {
		return fmt.Errorf("%s: %s", at.At(""), p.Message)
	}
	return fmt.Errorf("%s: %s: %s", at.At(p.Field), p.Field, p.Message)
}

// mostProblems is how many problems of an object are looked for.
const mostProblems = 100

var decoderNoise = regexp.MustCompile(`^(error unmarshaling JSON: )?(while decoding JSON: )?(json: )?|Go (struct field \S+|value) of type `)

// problemsIn returns the smallest parts of a document that decode would not take if
// they were alone. There are none if decode has taken the document.
func problemsIn(json []byte, err error, decode func([]byte) error) (found []Problem) {
	var narrow func(value any, path string, err error, decode func(any) error)
	narrow = func(value any, path string, err error, decode func(any) error) {
		before := len(found)
		part := func(value any, path string, decode func(any) error) {
			if err := decode(value); err != nil && len(found) < mostProblems {
				narrow(value, path, err, decode)
			}
		}
		switch v := value.(type) {
		case map[string]any:
			if decode(map[string]any{}) != nil {
				break // it is no place for an object
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				part(v[name], strings.TrimPrefix(path+"."+name, "."), func(part any) error { return decode(map[string]any{name: part}) })
			}
		case []any:
			if decode([]any{}) != nil {
				break
			}
			for i := range v {
				part(v[i], fmt.Sprintf("%s[%d]", path, i), func(part any) error { return decode([]any{part}) })
			}
		}
		if len(found) == before {
			found = append(found, Problem{path, decoderNoise.ReplaceAllString(err.Error(), "")})
		}
	}
	var value any
	switch {
	case err == nil:
	case document.IsLong(json) || utiljson.Unmarshal(json, &value) != nil:
		return []Problem{{"", err.Error()}}
	default:
		narrow(value, "", err, func(part any) error {
			text, err := gojson.Marshal(part)
			if err != nil {
				return err
			}
			return decode(text)
		})
	}
	return found
}
