package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/internal/parallel"
)

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

// noPanic makes an error of a panic: the parsers panic on some texts.
func noPanic(err *error) {
	if recover() != nil {
		*err = errors.New("the YAML parser cannot read this")
	}
}

// firstToJSON converts the first YAML document of a text.
func firstToJSON(text []byte) (json []byte, err error) {
	defer noPanic(&err)
	if n := countValues(text); n > mostValues {
		return nil, fmt.Errorf("some %d values in one document of YAML take too much memory; JSON takes less", n)
	}
	return yaml.YAMLToJSONStrict(text)
}

// keyFirst is how most documents begin: with a key that is not indented.
var keyFirst = regexp.MustCompile(`^(---\n)?[A-Za-z]`)

// hasRareBreaks reports whether a text has ends of lines that only YAML knows.
func hasRareBreaks(text []byte) bool {
	return bytes.Contains(text, []byte("\u0085")) || bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

// toJSON converts a YAML document, and fails if more text follows.
func toJSON(text []byte) (json []byte, err error) {
	defer noPanic(&err)
	json, err = firstToJSON(text)
	if keyFirst.Match(text) && !hasRareBreaks(text) && !bytes.Contains(text, []byte("\n%")) {
		return json, err // only a directive could end the document before the text
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for n := 0; err == nil; n++ {
		if err = decoder.Decode(new(yamlv3.Node)); err == nil && n > 0 {
			err = errors.New("text follows the end of the document")
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return json, err
}

// readYAML reads a YAML document, unless it is empty.
func (r *reader) readYAML(d span) error {
	if list := r.longList(d); list != nil {
		return r.f(*list)
	}
	json, err := toJSON(r.bytes[d.start:d.end])
	if err == nil && string(json) == "null" {
		return nil
	}
	at := r.place(d)
	if err != nil {
		return fmt.Errorf("%s: %w", at, r.yamlError(err, d))
	}
	document, _ := newDocument(json)
	document.Place = at
	document.ItemAt = func([]byte) Place {
		at.path = fmt.Sprintf("items[%d]", at.Item)
		at.Item++
		return at
	}
	return r.f(document)
}

var yamlPrefix = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?`)

// yamlError returns an error of the YAML parser with the lines of the whole text. Of
// several messages it keeps the first: there may be as many as there are lines.
func (r *reader) yamlError(err error, d span) error {
	line, _ := r.position(d.start)
	if _, located := toJSON(slices.Concat(bytes.Repeat([]byte("\n"), line-1), r.bytes[d.start:d.end])); located != nil {
		err = located
	}
	message, _, _ := strings.Cut(yamlPrefix.ReplaceAllString(err.Error(), ""), "\n")
	if strings.Contains(message, "already set in map") {
		message += " (a line --- must stand between two documents)"
	}
	return errors.New(message)
}

const (
	itemsKey = "\nitems:\n"
	// hole stands in the place of the items in the rest of a list.
	hole = `{"the items stand here":"and nowhere else does this text"}`
)

// firstItem matches how the items of a list start, as kubectl prints it.
var firstItem = regexp.MustCompile(`^ *- `)

// longList reads a list as kubectl prints it, nil if it is none: its items are
// converted one by one, on all cores. Indentation tells where they start, but the
// parser has the last word: if it does not take each for one item, nothing is cut.
func (r *reader) longList(d span) *Document {
	rest, items := r.cut(d)
	if len(items) < 2 || r.whole {
		return nil
	}
	json, err := toJSON(rest)
	list, _ := newDocument(json)
	if err != nil || !strings.HasSuffix(list.Kind, "List") || len(list.Items) != 1 || string(list.Items[0]) != hole {
		return nil
	}
	list.Items = nil
	for i, item := range parallel.InOrder(len(items), func(i int) []byte { return r.item(items[i]) }) {
		if item == nil {
			return nil
		}
		list.Items = append(list.Items, item)
		r.progress("YAML", items[i].end, len(r.bytes))
	}
	list.Place = r.place(d)
	at := list.Place
	list.ItemAt = func([]byte) Place {
		at.part, at.path = items[at.Item], "[0]"
		at.Item++
		return at
	}
	return &list
}

// cut cuts a list at its items. It returns the rest of it, and the items.
func (t *text) cut(list span) (rest []byte, items []span) {
	text := t.bytes[list.start:list.end]
	head, tail, _ := bytes.Cut(text, []byte(itemsKey))
	start := firstItem.Find(tail)
	if start == nil || hasRareBreaks(text) || bytes.Contains(text, []byte(hole)) {
		return nil, nil
	}
	at := len(text) - len(tail)
	for line := range bytes.Lines(tail) {
		if !strings.Contains(" -#\n", string(line[:1])) {
			break // a key of the list itself
		}
		if bytes.HasPrefix(line, start) {
			items = append(items, span{start: list.start + at})
		}
		at += len(line)
		items[len(items)-1].end = list.start + at
	}
	return slices.Concat(head, []byte(itemsKey+"- "+hole+"\n"), text[at:]), items
}

// item converts an item of a list; nil if it is anything else.
func (r *reader) item(item span) []byte {
	json, err := firstToJSON(slices.Concat([]byte(itemsKey), r.bytes[item.start:item.end]))
	list, _ := newDocument(json)
	if err != nil || len(list.Items) != 1 || len(json) != len(`{"items":[`)+len(list.Items[0])+len(`]}`) {
		return nil
	}
	return list.Items[0]
}
