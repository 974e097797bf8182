package kubefile

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is the place of an object in the input. An object that does not come from a text has
// only a File, which describes the object.
type Place struct {
	File string
	// Document is the number of the document in the file, and Item the number of the item
	// in a list. Both count from 1, without empty documents. Item is 0 outside a list.
	Document, Item int

	// part is the text that contains the object, and path the path of the object in it.
	part
	path string
	// last caches the part of the text that was parsed last.
	last *parsed
}

// String returns the place in the form for errors: "pods.yaml: document 1, item 3".
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

// Position returns the line and the column of a field of the object, such as
// "spec.completions". A missing field has the position of its nearest parent. Both count from
// 1; without a text they are 0.
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

// parsed is the parsed text at an offset.
type parsed struct {
	offset int
	root   *yaml.Node
}

// node parses a text to find the positions of fields. JSON is almost YAML. If the parser
// rejects the text, or the text has more values than any object that Kubernetes stores, only
// its start is known. The result is only used for the positions in errors.
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

// find follows a path from node n as far as possible, and returns the last key or item. The
// key of a map may contain dots: the longest matching key wins.
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
