package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var firstDash = regexp.MustCompile(`^ *- `)

// cutList cuts a list into lists of one item, at the lines that start with a dash. It knows the lists
// that kubectl, yq and PyYAML write: in block style, with any indentation. For any other text it
// returns no items. The rest of the list is parsed with a mark in the place of the items, so that
// a line that only looks like "items:" is not mistaken for it.
func cutList(text []byte) (list object, items []json.RawMessage) {
	head, rest, _ := bytes.Cut(text, []byte("\nitems:\n"))
	dash := firstDash.Find(rest)
	unfit := func(b []byte) bool { return bytes.Contains(text, b) }
	if dash == nil || slices.ContainsFunc(otherBreaks, unfit) {
		return object{}, nil
	}
	deeper := bytes.Repeat([]byte(" "), len(dash)-1)
	var starts []int
	end := 0
	for line := range bytes.Lines(rest) {
		if bytes.HasPrefix(line, dash) {
			starts = append(starts, end)
		} else if !bytes.HasPrefix(line, deeper) && len(bytes.Trim(line, " \n")) > 0 {
			break
		}
		end += len(line)
	}
	starts = append(starts, end)
	mark := strings.Repeat("x", len(text)-len(rest)+len(rest[end:])) // longer than what the rest of the list can say
	list = newObject(asItem(slices.Concat(head, []byte("\nitems: ["+mark+"]\n"), rest[end:])), "YAML", "")
	if !list.isList() || len(list.Items) != 1 || string(list.Items[0]) != `"`+mark+`"` {
		return object{}, nil
	}
	for i, start := range starts[:len(starts)-1] {
		items = append(items, json.RawMessage(rest[start:starts[i+1]]))
	}
	return list, items
}

// otherBreaks also end a line or a document, but only for the YAML parser.
var otherBreaks = [][]byte{[]byte("\n%"), []byte("\u0085"), []byte("\u2028"), []byte("\u2029")}

var indented = strings.NewReplacer("\n", "\n  ", "\u0085", "\u0085  ", "\u2028", "\u2028  ", "\u2029", "\u2029  ")

// asItem turns a document into a list of one item. The parser stops at the end of the first
// document without reporting that more follows. With all lines indented, only the end of the
// text can end the item.
func asItem(document []byte) []byte {
	last := max(0, len(document)-1) // no line begins after it
	return append([]byte("- "+indented.Replace(string(document[:last]))), document[last:]...)
}

// toJSON converts a YAML list to the JSON of its single item. The list starts at the beginning of a
// line. The parser returns an error for each wrong line; toJSON returns the first.
func toJSON(list []byte) ([]byte, error) {
	var items []json.RawMessage
	err := guard(list, mostValues, func() error { return yaml.UnmarshalStrict(list, &items) })
	if err != nil && bytes.Contains(list, []byte("<<")) && duplicateKeys((&file{}).parse(list), "") == nil {
		// the strict parser rejects a key that overrides a merged one
		err = guard(list, mostValues, func() error { return yaml.Unmarshal(list, &items) })
	}
	switch {
	case err != nil:
		message, _, _ := strings.Cut(parserNoise.ReplaceAllString(err.Error(), ""), "\n")
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

// values returns about how many values a YAML text may contain.
func values(text []byte) (n int) {
	// one of these precedes each value or pair of values
	for _, mark := range []string{",", ":", "[", "{", "- ", "-\n", "? ", "?\n"} {
		n += bytes.Count(text, []byte(mark))
	}
	return n
}

// guard calls a YAML parser, unless the text may contain more than most values.
func guard(text []byte, most int, parser func() error) (err error) {
	if n := values(text); n > most {
		return fmt.Errorf("about %d values in one YAML document take too much memory; JSON takes less", n)
	}
	defer func() {
		if recover() != nil { // the parsers panic on some inputs
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	return parser()
}
