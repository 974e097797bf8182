package kubefile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Place is where in the input an object stands.
type Place struct {
	File string
	// Document counts the documents of the file from 1, without empty ones.
	Document int
	// Item counts the items of a list from 1; 0 for an object that stands alone.
	Item int

	text *text
	// The object is in a part of the text, in one of the documents of the part
	// (counted from 0, without empty ones), at a path within that document.
	part  span
	index int
	path  string
}

// String returns the place as it begins an error: "pods.yaml: document 1, item 3".
func (p Place) String() string {
	if p.Item == 0 {
		return fmt.Sprintf("%s: document %d", p.File, p.Document)
	}
	return fmt.Sprintf("%s: document %d, item %d", p.File, p.Document, p.Item)
}

// Position returns the line and the column of the file at which a field of the
// object stands, as in "spec.completions", or the nearest field around it that is
// there. Both are counted from 1.
func (p Place) Position(field string) (line, column int) {
	if p.text == nil {
		return 1, 1
	}
	line, column = p.text.position(p.part.start)
	root := p.text.document(p.part, p.index)
	if root == nil {
		return line, column
	}
	n, _ := find(root, p.path, root)
	_, key := find(n, field, n)
	if key.Line == 1 {
		return line, column + key.Column - 1
	}
	return line + key.Line - 1, key.Column
}

// Line returns the line of a field.
func (p Place) Line(field string) int {
	line, _ := p.Position(field)
	return line
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string { return fmt.Sprintf("%s:%d", p.File, p.Line(field)) }

// parsed is a document of a part of a text.
type parsed struct {
	part  span
	index int
	root  *yaml.Node
}

// document parses a part of a text to find fields in it. JSON is YAML, nearly: it
// returns nil for what the parser does not take. What is found here decides
// nothing but what an error points at.
func (t *text) document(part span, index int) *yaml.Node {
	if t.parsed.part != part || t.parsed.index != index {
		t.parsed = parsed{part, index, nodeOf(t.bytes[part.start:part.end], index)}
	}
	return t.parsed.root
}

func nodeOf(text []byte, index int) (root *yaml.Node) {
	defer func() { _ = recover() }() // the parser panics on some texts
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); index >= 0; {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return nil
		}
		if len(document.Content) > 0 && document.Content[0].ShortTag() != "!!null" {
			root = document.Content[0]
			index--
		}
	}
	return root
}

// find follows a path from a node as far as it leads. It returns the node at which
// it ends, and the key or item that stands for it in the text.
func find(n *yaml.Node, path string, key *yaml.Node) (end, at *yaml.Node) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return n, key
	}
	switch n.Kind {
	case yaml.SequenceNode:
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(n.Content) {
			return find(n.Content[i], rest, n.Content[i])
		}
	case yaml.MappingNode:
		// The key of a map may have dots itself: the longest is meant.
		found, longest := -1, -1
		for i := 0; i+1 < len(n.Content); i += 2 {
			if length := leads(path, n.Content[i].Value); length > longest {
				found, longest = i, length
			}
		}
		if found >= 0 {
			return find(n.Content[found+1], path[longest:], n.Content[found])
		}
	}
	return n, key
}

// leads returns how much of a path a key takes, which stands there either as it is
// or in brackets; -1 if it does not begin with the key.
func leads(path, key string) int {
	if rest, ok := strings.CutPrefix(path, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		return len(key)
	}
	if strings.HasPrefix(path, "["+key+"]") {
		return len(key) + len("[]")
	}
	return -1
}
