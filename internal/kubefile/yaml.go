package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/internal/parallel"
)

// readYAML reads a YAML document, unless it is empty.
func (r *reader) readYAML(part span) error {
	if list, is := r.longList(part); is {
		return r.addAll(list)
	}
	text, err := toJSON(asItem(part.in(r.bytes)))
	if string(text) == "null" {
		return nil
	}
	at := r.place(part)
	if err != nil {
		return fmt.Errorf("%s: %w", at, r.yamlError(err, part))
	}
	r.progress("YAML", part.end)
	d := newDocument(text)
	d.at, d.itemAt = at, func(i int) Place { return at.In(fmt.Sprintf("items[%d]", i)) }
	return r.addAll(d)
}

var indented = strings.NewReplacer("\n", "\n  ", "\u0085", "\u0085  ", "\u2028", "\u2028  ", "\u2029", "\u2029  ")

// asItem makes a document the item of a list. All its lines are then indented, and
// only the end of the text can end it: the parser stops at the end of the first
// document, and does not tell that more follows.
func asItem(document []byte) []byte {
	last := max(0, len(document)-1) // no line begins after it
	return append([]byte("- "+indented.Replace(string(document[:last]))), document[last:]...)
}

// mostValues is how many values of YAML are parsed at once. However short they are,
// each takes some hundred bytes of memory.
const mostValues = 100_000

// countValues returns how many values a YAML text has at most, or pairs of them.
func countValues(text []byte) (n int) {
	for _, mark := range []string{",", ":", "[", "{", "- ", "-\n", "? ", "?\n"} {
		n += bytes.Count(text, []byte(mark))
	}
	return n
}

// toJSON converts a YAML list, which starts at the start of a line and has a single
// item, to the JSON of the item.
func toJSON(list []byte) (item json.RawMessage, err error) {
	defer func() {
		if recover() != nil { // the parser panics on some texts
			err = errors.New("the YAML parser cannot read this")
		}
	}()
	if n := countValues(list); n > mostValues {
		return nil, fmt.Errorf("some %d values in one document of YAML take too much memory; JSON takes less", n)
	}
	converted, err := yaml.YAMLToJSONStrict(list)
	if err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(converted, &items); err != nil || len(items) != 1 {
		return nil, errors.New("this is not a single document")
	}
	return items[0], nil
}

var yamlPrefix = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?`)

// yamlError returns an error of the YAML parser with the lines of the whole text. Of
// several messages it keeps the first: there may be as many as there are lines.
func (r *reader) yamlError(err error, part span) error {
	line, _ := r.position(part.start)
	before := strings.Repeat("\n", line-1)
	if _, located := toJSON(append([]byte(before), asItem(part.in(r.bytes))...)); located != nil {
		err = located
	}
	message, _, _ := strings.Cut(yamlPrefix.ReplaceAllString(err.Error(), ""), "\n")
	if strings.Contains(message, "already set in map") {
		message += " (a line --- must stand between two documents)"
	}
	return errors.New(message)
}

// longList reads a list as kubectl prints it: its items are converted one by one, on
// all cores. If the parser does not take each of them for one item, it is none.
func (r *reader) longList(part span) (list document, is bool) {
	text := part.in(r.bytes)
	list, items := cut(text)
	convert := func(i int) json.RawMessage {
		item, _ := toJSON(items[i].in(text))
		return item
	}
	for i, item := range parallel.InOrder(len(items), convert) {
		if item == nil {
			return document{}, false
		}
		list.Items = append(list.Items, item)
		r.progress("YAML", part.start+items[i].end)
	}
	if items == nil {
		return document{}, false
	}
	list.at = r.place(part)
	list.itemAt = func(i int) Place {
		at := list.at.In("[0]")
		at.part = span{part.start + items[i].start, part.start + items[i].end}
		return at
	}
	return list, true
}

// How kubectl begins and ends a list. The items begin with a dash. No version is a number
// or a truth value, as some texts without quotes are.
var (
	listStart = regexp.MustCompile(`^(?:#.*\n|\n)*apiVersion: ((?:[a-z][a-z0-9.-]*/)?v[0-9][a-z0-9]*)\nitems:\n`)
	listEnd   = regexp.MustCompile(`^kind: (\w*List)\n(?:metadata:\n(?:  \w+: "\w*"\n)*)?\n*$`)
)

// cut cuts a list as kubectl prints it at the lines that start with a dash. Any other
// text has no items.
func cut(text []byte) (list document, items []span) {
	start := listStart.FindSubmatch(text)
	if start == nil {
		return document{}, nil
	}
	at := len(start[0])
	for line := range bytes.Lines(text[at:]) {
		if bytes.HasPrefix(line, []byte("- ")) {
			items = append(items, span{start: at})
		} else if items == nil || !strings.Contains(" -#\n", string(line[:1])) {
			break // a key of the list itself
		}
		at += len(line)
		items[len(items)-1].end = at
	}
	end := listEnd.FindSubmatch(text[at:])
	for _, rareBreak := range []string{"\u0085", "\u2028", "\u2029"} {
		if end == nil || bytes.Contains(text, []byte(rareBreak)) {
			return document{}, nil
		}
	}
	list.APIVersion, list.Kind = string(start[1]), string(end[1])
	return list, items
}
