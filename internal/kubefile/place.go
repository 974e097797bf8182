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

	// The object is in a part of the text, at a path.
	part
	path string
	// last is the part of the text that was parsed last.
	last *parsed
}

// String returns the place as it begins an error: "pods.yaml: document 1, item 3".
func (p Place) String() string {
	text := p.File
	if p.Document > 0 {
		text += fmt.Sprintf(": document %d", p.Document)
	}
	if p.Item > 0 {
		text += fmt.Sprintf(", item %d", p.Item)
	}
	return text
}

// Position returns the line and the column of the file at which a field of the
// object stands, as in "spec.completions", or the nearest field around it that is
// there. Both are counted from 1; without a text they are 0.
func (p Place) Position(field string) (line, column int) {
	if p.Document == 0 {
		return 0, 0
	}
	root := p.last.node(p.part)
	at := find(root, root, p.path+"."+field)
	if at.Line > 1 {
		return p.line + at.Line - 1, at.Column
	}
	return p.line, p.column + at.Column - 1
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string {
	if line, _ := p.Position(field); line > 0 {
		return fmt.Sprintf("%s:%d", p.File, line)
	}
	return p.File
}

// in returns the place of what stands at a path within the object.
func (p Place) in(path string) Place {
	p.path += "." + path
	return p
}

// parsed is the value of the text at an offset.
type parsed struct {
	offset int
	root   *yaml.Node
}

// node parses a text to find fields in it. JSON is YAML, nearly: of what the parser does
// not take, and of what has more values than any object that Kubernetes stores, only the
// start is known. What is found here decides nothing but what an error points at.
func (last *parsed) node(p part) *yaml.Node {
	if last.root == nil || last.offset != p.offset {
		*last = parsed{p.offset, &yaml.Node{Line: 1, Column: 1}}
		var document yaml.Node
		err := parse(p.text, 3*mostValues, func() error { return yaml.Unmarshal(p.text, &document) })
		if err == nil && len(document.Content) > 0 {
			last.root = document.Content[0]
		}
	}
	return last.root
}

// find follows a path from a node as far as it leads, and returns the key or the item
// where it ends. The key of a map may have dots itself: the longest that fits is meant.
func find(at, n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	path = strings.TrimLeft(path, ".[]")
	name, value := "", (*yaml.Node)(nil)
	switch index, _, _ := strings.Cut(path, "]"); n.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.ParseUint(index, 10, 31); err == nil && int(i) < len(n.Content) {
			name, at, value = index, n.Content[i], n.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			rest, fits := strings.CutPrefix(path, key.Value)
			if fits && len(key.Value) > len(name) && strings.ContainsAny((rest + ".")[:1], ".[]") {
				name, at, value = key.Value, key, n.Content[i+1]
			}
		}
	}
	if value == nil {
		return at
	}
	return find(at, value, path[len(name):])
}
