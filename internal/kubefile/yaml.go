package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
)

// eachYAML parses YAML, with the parser and the strictness of kubectl, and calls f
// with the JSON of each document that is not empty.
func eachYAML(text []byte, f func(value any) error) error {
	if err := checkDensity(text); err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.SetStrict(true) // a key that occurs twice is an error: two documents without a separator look so
	for {
		value, err := nextYAML(decoder)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && value != nil {
			err = f(value)
		}
		if err != nil {
			return err
		}
	}
}

// nextYAML returns the next document. The parser panics on some texts.
func nextYAML(decoder *yaml.Decoder) (value any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	err = decoder.Decode(&value)
	return jsonable(value), err
}

// jsonable returns a value of the YAML parser as one of which there is JSON.
func jsonable(value any) any {
	switch v := value.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[fmt.Sprint(key)] = jsonable(element)
		}
		return out
	case []any:
		for i := range v {
			v[i] = jsonable(v[i])
		}
	}
	return value
}

// checkDensity refuses text of which the parser would make much more than its
// size: a value takes some 200 bytes, however short it is.
func checkDensity(text []byte) error {
	if len(text) < dense {
		return nil
	}
	values := 0
	for _, mark := range []string{",", ":", "[", "{", "\n"} {
		values += bytes.Count(text, []byte(mark))
	}
	if values > len(text)/10 {
		return fmt.Errorf("some %d values in %d bytes of YAML take too much memory; JSON takes less", values, len(text))
	}
	return nil
}

// dense is the size from which on it matters how many values a text has.
const dense = 4 << 20

// yaml reads a part that holds YAML documents.
func (r *reader) yaml(p span) error {
	if done, err := r.pieces(p); done {
		return err
	}
	index := 0
	var refused error
	err := eachYAML(r.text.bytes[p.start:p.end], func(value any) error {
		at := r.nextPlace(p, index)
		index++
		refused = r.yamlDocument(value, at)
		return refused
	})
	if err != nil && refused == nil {
		return fmt.Errorf("%s: %w", r.nextPlace(p, index), r.relocate(err, p))
	}
	return err
}

func (r *reader) yamlDocument(value any, at Place) error {
	o := object{at: at}
	fields, _ := value.(map[string]any)
	o.Kind, _ = fields["kind"].(string)
	o.APIVersion, _ = fields["apiVersion"].(string)
	items, isList := fields["items"].([]any)
	if o.isList() {
		return r.document(o, isList || fields["items"] == nil, yamlItems(items, at, "items"))
	}
	o.Spec, o.Status = fields["spec"] != nil, fields["status"] != nil
	var err error
	if o.json, err = json.Marshal(value); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return r.document(o, true, nil)
}

// yamlItems returns the items of a list that stands at a path.
func yamlItems(items []any, at Place, path string) iter.Seq[object] {
	return func(yield func(object) bool) {
		for i := range items {
			value, _ := json.Marshal(items[i]) // without a JSON it is no object
			o := newObject(value)
			o.at = at
			o.at.path = fmt.Sprintf("%s[%d]", path, i)
			if !yield(o) {
				return
			}
		}
	}
}

var (
	yamlPrefix = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?`)
	yamlLine   = regexp.MustCompile(`line (\d+)`)
)

// relocate returns an error of the YAML parser with the lines of the text. Of
// several messages it keeps the first: there may be as many as there are lines.
func (r *reader) relocate(err error, p span) error {
	base, _ := r.text.position(p.start)
	message, _, _ := strings.Cut(yamlPrefix.ReplaceAllString(err.Error(), ""), "\n")
	message = yamlLine.ReplaceAllStringFunc(message, func(match string) string {
		n, _ := strconv.Atoi(match[len("line "):]) // the expression has digits only
		return "line " + strconv.Itoa(n+base-1)
	})
	if strings.Contains(message, "already set in map") {
		message += " (a line --- must stand between two documents)"
	}
	return errors.New(message)
}
