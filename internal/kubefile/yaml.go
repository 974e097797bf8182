package kubefile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/internal/parallel"
)

// readYAML reads a YAML document unless it is empty. If the document is a list in the format
// of kubectl, and the parser reads each of its items as a single item, the items are
// converted one by one, on all cores.
func (r *reader) readYAML(p part) error {
	list, items := cutList(p.text)
	done := p.offset
	for i, item := range parallel.InOrder(len(items), func(i int) raw { item, _ := toJSON(items[i]); return item }) {
		if item == nil {
			break
		}
		list.Items = append(list.Items, item)
		done += len(items[i])
		r.progress(done)
	}
	if items != nil && len(list.Items) == len(items) {
		list.at = r.place(p)
		list.at.path = "[0]"
		return r.addAll(list, items)
	}
	text, err := toJSON(asItem(p.text))
	if string(text) == "null" {
		return nil
	}
	at := r.place(p)
	if err != nil { // again, with the line numbers of the whole text
		_, err = toJSON(append(bytes.Repeat([]byte("\n"), p.line-1), asItem(p.text)...))
		return fmt.Errorf("%s: %w", at, err)
	}
	o := newObject(text, metav1.TypeMeta{})
	o.at = at
	return r.addAll(o, nil)
}

// listFrame matches a list in the format of kubectl, without its items. The pattern of the
// version excludes unquoted texts that YAML reads as numbers or booleans.
var listFrame = regexp.MustCompile(`^(?:#.*\n|\n)*apiVersion: ((?:[a-z][a-z0-9.-]*/)?v[0-9][a-z0-9]*)\nitems:\nkind: (\w*List)\n(?:metadata:\n(?:  \w+: "\w*"\n)*)?\n*$`)

// cutList cuts a list in the format of kubectl at the lines that start with a dash. For any
// other text it returns no items.
func cutList(text []byte) (list object, items []raw) {
	start, end := bytes.Index(text, []byte("\n- "))+1, bytes.LastIndex(text, []byte("\nkind: "))+1
	if start == 0 || end < start || slices.ContainsFunc(otherBreaks, func(b []byte) bool { return bytes.Contains(text, b) }) {
		return object{}, nil
	}
	frame := listFrame.FindSubmatch(slices.Concat(text[:start], text[end:]))
	if frame == nil {
		return object{}, nil
	}
	list.APIVersion, list.Kind = string(frame[1]), string(frame[2])
	for rest := text[start:end]; ; {
		n := bytes.Index(rest, []byte("\n- ")) + 1
		if n == 0 {
			return list, append(items, rest)
		}
		items, rest = append(items, rest[:n]), rest[n:]
	}
}

// otherBreaks also end a line or a document, but only for the YAML parser.
var otherBreaks = [][]byte{[]byte("\n%"), []byte("\u0085"), []byte("\u2028"), []byte("\u2029")}

var indented = strings.NewReplacer("\n", "\n  ", "\u0085", "\u0085  ", "\u2028", "\u2028  ", "\u2029", "\u2029  ")

// asItem turns a document into the item of a list. The parser stops at the end of the first
// document without reporting that more follows. With all lines indented, only the end of the
// text can end the item.
func asItem(document []byte) []byte {
	last := max(0, len(document)-1) // no line begins after it
	return append([]byte("- "+indented.Replace(string(document[:last]))), document[last:]...)
}

var yamlPrefix = regexp.MustCompile(`^(error converting YAML to JSON: )?yaml: (unmarshal errors:\s*)?`)

// toJSON converts a YAML list to the JSON of its single item. The list starts at the beginning
// of a line. Of the errors of the parser, one for each line, it returns the first.
func toJSON(list []byte) (raw, error) {
	var items []raw
	err := parse(list, mostValues, func() error { return yaml.UnmarshalStrict(list, &items) })
	switch {
	case err != nil:
		message, _, _ := strings.Cut(yamlPrefix.ReplaceAllString(err.Error(), ""), "\n")
		if strings.Contains(message, "already set in map") {
			message += " (separate documents with a line ---)"
		}
		return nil, errors.New(message)
	case len(items) != 1:
		return nil, errors.New("this is not a single document")
	}
	return items[0], nil
}

// mostValues is the maximum number of YAML values that are converted at once. Even a short
// value takes some hundred bytes of memory.
const mostValues = 100_000

// parse calls a YAML parser, unless the text may contain more than most values.
func parse(text []byte, most int, parser func() error) (err error) {
	values := 0
	for _, mark := range []string{",", ":", "[", "{", "- ", "-\n", "? ", "?\n"} { // one of these precedes each value or pair of values
		values += bytes.Count(text, []byte(mark))
	}
	if values > most {
		return fmt.Errorf("about %d values in one YAML document take too much memory; JSON takes less", values)
	}
	defer func() {
		if recover() != nil { // the parsers panic on some inputs
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	return parser()
}
