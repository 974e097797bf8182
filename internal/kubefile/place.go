package kubefile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is where in the input an object stands. An object that comes from no text has
// a File only, which says what it is.
type Place struct {
	File string
	// Document counts the documents of the file from 1, without empty ones, and
	// Item the items of a list; it is 0 for an object that stands alone.
	Document, Item int

	text *text
	// The object is in a part of the text, at a path.
	part span
	path string
}

// String returns the place as it begins an error: "pods.yaml: document 1, item 3".
func (p Place) String() string {
	switch {
	case p.text == nil:
		return p.File
	case p.Item == 0:
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s: document %d, item %d", p.File, p.Document, p.Item)
}

// Position returns the line and the column of the file at which a field of the
// object stands, as in "spec.completions", or the nearest field around it that is
// there. Both are counted from 1; without a text they are 0.
func (p Place) Position(field string) (line, column int) {
	if p.text == nil {
		return 0, 0
	}
	line, column = p.text.position(p.part.start)
	root := p.text.node(p.part)
	at := find(root, root, p.path+"."+field)
	if at.Line > 1 {
		return line + at.Line - 1, at.Column
	}
	return line, column + at.Column - 1
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string {
	if p.text == nil {
		return p.File
	}
	line, _ := p.Position(field)
	return fmt.Sprintf("%s:%d", p.File, line)
}

// In returns the place of what stands at a path within the object.
func (p Place) In(path string) Place {
	p.path += "." + path
	return p
}

// node parses a part of a text to find fields in it. JSON is YAML, nearly: of what
// the parser does not take, only the start is known. What is found here decides
// nothing but what an error points at.
func (t *text) node(part span) *yaml.Node {
	if t.root == nil || t.parsed != part {
		t.parsed, t.root = part, parse(part.in(t.bytes))
	}
	return t.root
}

// parse returns the value of a text. Of one that has more values than any object that
// Kubernetes stores, it is not known: nodes take much more memory than text.
func parse(text []byte) (root *yaml.Node) {
	root = &yaml.Node{Line: 1, Column: 1}
	defer func() { _ = recover() }() // the parser panics on some texts
	var document yaml.Node
	if countValues(text) <= 3*mostValues && yaml.Unmarshal(text, &document) == nil && len(document.Content) > 0 {
		root = document.Content[0]
	}
	return root
}

// find follows a path from a node as far as it leads, and returns the key or the item
// where it ends. The key of a map may have dots itself: the longest that fits is meant.
func find(at, n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	path = strings.TrimLeft(path, ".[]")
	name, key, value := "", at, (*yaml.Node)(nil)
	switch number, _, _ := strings.Cut(path, "]"); n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.Content) {
			name, key, value = number, n.Content[i], n.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			rest, fits := strings.CutPrefix(path, n.Content[i].Value)
			if fits && len(n.Content[i].Value) > len(name) && (rest == "" || strings.Contains(".[]", rest[:1])) {
				name, key, value = n.Content[i].Value, n.Content[i], n.Content[i+1]
			}
		}
	}
	if value == nil {
		return at
	}
	return find(key, value, path[len(name):])
}
