package kubefile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/internal/parallel"
)

// readYAML reads a YAML document, unless it is empty. The items of a list as kubectl
// prints it are converted one by one, on all cores, if the parser takes each of them for
// one item.
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
		return r.addAll(list, r.place(p).in("[0]"), items)
	}
	text, err := toJSON(asItem(p.text))
	if string(text) == "null" {
		return nil
	}
	at := r.place(p)
	if err != nil {
		return fmt.Errorf("%s: %w", at, located(err, p))
	}
	return r.addAll(newDocument(text), at, nil)
}

// How kubectl begins and ends a list. The items begin with a dash. No version is a number
// or a truth value, as some texts without quotes are.
var (
	listStart = regexp.MustCompile(`^(?:#.*\n|\n)*apiVersion: ((?:[a-z][a-z0-9.-]*/)?v[0-9][a-z0-9]*)\nitems:\n- `)
	listEnd   = regexp.MustCompile(`^\nkind: (\w*List)\n(?:metadata:\n(?:  \w+: "\w*"\n)*)?\n*$`)
)

// cutList cuts a list as kubectl prints it at the lines that start with a dash. Any
// other text has no items.
func cutList(text []byte) (list document, items []raw) {
	end := max(0, bytes.LastIndex(text, []byte("\nkind: ")))
	first, last := listStart.FindSubmatch(text), listEnd.FindSubmatch(text[end:])
	if first == nil || last == nil || slices.ContainsFunc(otherBreaks, func(b []byte) bool { return bytes.Contains(text, b) }) {
		return document{}, nil
	}
	list.APIVersion, list.Kind = string(first[1]), string(last[1])
	rest := text[len(first[0])-len("- ") : end+1]
	for {
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

// asItem makes a document the item of a list. All its lines are then indented, and
// only the end of the text can end it: the parser stops at the end of the first
// document, and does not tell that more follows.
func asItem(document []byte) []byte {
	last := max(0, len(document)-1) // no line begins after it
	return append([]byte("- "+indented.Replace(string(document[:last]))), document[last:]...)
}

// toJSON converts a YAML list, which starts at the start of a line and has a single
// item, to the JSON of the item.
func toJSON(list []byte) (raw, error) {
	var items []raw
	err := parse(list, mostValues, func() error { return yaml.UnmarshalStrict(list, &items) })
	if err == nil && len(items) != 1 {
		err = errors.New("this is not a single document")
	}
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// mostValues is how many values of YAML are converted at once. However short they are,
// each takes some hundred bytes of memory.
const mostValues = 100_000

// parse calls a parser of YAML, unless the text may have more values than most.
func parse(text []byte, most int, parser func() error) (err error) {
	values := 0
	for _, mark := range []string{",", ":", "[", "{", "- ", "-\n", "? ", "?\n"} { // before each value, or pair of them
		values += bytes.Count(text, []byte(mark))
	}
	if values > most {
		return fmt.Errorf("some %d values in one document of YAML take too much memory; JSON takes less", values)
	}
	defer func() {
		if recover() != nil { // the parsers panic on some texts
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	return parser()
}

var yamlPrefix = regexp.MustCompile(`^(error converting YAML to JSON: )?yaml: (unmarshal errors:\s*)?`)

// located returns an error of the YAML parser with the lines of the whole text. Of
// several messages it keeps the first: there may be as many as there are lines.
func located(err error, p part) error {
	before := strings.Repeat("\n", p.line-1)
	if _, again := toJSON(append([]byte(before), asItem(p.text)...)); again != nil {
		err = again
	}
	message, _, _ := strings.Cut(yamlPrefix.ReplaceAllString(err.Error(), ""), "\n")
	if strings.Contains(message, "already set in map") {
		message += " (a line --- must stand between two documents)"
	}
	return errors.New(message)
}
