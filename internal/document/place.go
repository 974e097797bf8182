package document

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
	at := find(p.text.nodeOf(p.part), p.path+"."+field)
	if at.Line > 1 {
		return line + at.Line - 1, at.Column
	}
	return line, column + at.Column - 1
}

// Line returns the line of a field.
func (p Place) Line(field string) int {
	line, _ := p.Position(field)
	return line
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string {
	if p.text == nil {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line(field))
}

// In returns the place of what stands at a path within the object.
func (p Place) In(path string) Place {
	p.path += "." + path
	return p
}

// IsLong reports whether a text has so many values that to look at each alone takes
// much more memory than the text: no object that Kubernetes stores has.
func IsLong(text []byte) bool { return countValues(text) > 3*mostValues }

// nodeOf parses a part of a text to find fields in it. JSON is YAML, nearly: of what
// the parser does not take, and of a long text, only the start is known. What is
// found here decides nothing but what an error points at.
func (t *text) nodeOf(part span) *yaml.Node {
	if t.parsed.root == nil || t.parsed.part != part {
		t.parsed.part, t.parsed.root = part, parse(t.bytes[part.start:part.end])
	}
	return t.parsed.root
}

func parse(text []byte) (root *yaml.Node) {
	root = &yaml.Node{Line: 1, Column: 1}
	defer func() { _ = recover() }() // the parser panics on some texts
	var document yaml.Node
	if !IsLong(text) && yaml.Unmarshal(text, &document) == nil && len(document.Content) > 0 {
		root = document.Content[0]
	}
	return root
}

// find follows a path from a node as far as it leads. It returns the key or the item
// in the text where it ends. The key of a map may have dots itself: the longest that
// fits is meant.
func find(n *yaml.Node, path string) (at *yaml.Node) {
	for at = n; ; {
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		path = strings.TrimLeft(path, ".[]")
		name, next := "", (*yaml.Node)(nil)
		switch number, _, _ := strings.Cut(path, "]"); n.Kind {
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.Content) {
				next, at, name = n.Content[i], n.Content[i], number
			}
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				if rest, fits := strings.CutPrefix(path, key.Value); fits && len(key.Value) > len(name) && (rest == "" || strings.Contains(".[]", rest[:1])) {
					next, at, name = n.Content[i+1], key, key.Value
				}
			}
		}
		if next == nil {
			return at
		}
		n, path = next, path[len(name):]
	}
}
