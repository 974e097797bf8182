package kubefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Problem says why a field of an object cannot be read. The field is empty if the problem is
// the object as a whole.
type Problem struct{ Field, Message string }

// firstOf returns the first of the problems of an object, with its place.
func firstOf(problems []Problem, at Place) error {
	for _, p := range problems {
		return fmt.Errorf("%s: %s", at.At(p.Field), strings.TrimPrefix(p.Field+": "+p.Message, ": "))
	}
	return nil
}

var decoderNoise = regexp.MustCompile(`^(error unmarshaling JSON: )?(while decoding JSON: )?(json: )?|Go (struct field \S+|value) of type `)

// problems returns the smallest parts of the object that decode rejects on their own, at most
// 100. A decoder reports only the first error, and not always its position. There are none if
// decode accepts the object.
func (o object) problems(decode func([]byte) error) (found []Problem) {
	// narrow decodes a part of the object within its parents, without other fields.
	var narrow func(path, before string, part []byte, after string)
	narrow = func(path, before string, part []byte, after string) {
		around := func(part string) error { return decode([]byte(before + part + after)) }
		err := around(string(part))
		known := len(found)
		if err == nil || known == 100 {
			return
		}
		var fields map[string]raw
		if json.Unmarshal(part, &fields) == nil && around("{}") == nil {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				key, _ := json.Marshal(name)
				narrow(strings.TrimPrefix(path+"."+name, "."), before+"{"+string(key)+":", fields[name], "}"+after)
			}
		}
		var items []raw
		if json.Unmarshal(part, &items) == nil && around("[]") == nil {
			for i, item := range items {
				narrow(fmt.Sprintf("%s[%d]", path, i), before+"[", item, "]"+after)
			}
		}
		if len(found) == known {
			found = append(found, Problem{path, decoderNoise.ReplaceAllString(err.Error(), "")})
		}
	}
	narrow("", "", o.json, "")
	return found
}
