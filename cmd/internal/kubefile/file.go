package kubefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlnode "go.yaml.in/yaml/v3"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/cmd/internal/textfile"
)

// Place is the place of an object in the input. An object without a text has only a File, which describes the object.
type Place struct {
	File string
	*file
	number string // the number of the document, not counting empty ones, and of the item in a list
	part   []byte // the part of the text that contains the object
	path   string // the path of the object in the part
}

// String returns the place in the form for errors: "pods.yaml: document 1, item 3".
func (p Place) String() string { return p.File + p.number }

// Position returns the line and the column of a field of the object, such as
// "spec.completions". A missing field has the position of its nearest parent. Both count from
// 1; without a text they are 0.
func (p Place) Position(field string) (line, column int) {
	if p.file == nil {
		return 0, 0
	}
	line, column = p.position(p.part)
	root := p.parse(p.part)
	at, _ := find(root, root, p.path+"."+field)
	if at.Line > 1 {
		column = 1
	}
	return line + at.Line - 1, column + at.Column - 1
}

// At returns the file and the line of a field: "job.yaml:12".
func (p Place) At(field string) string {
	line, _ := p.Position(field)
	return strings.TrimSuffix(fmt.Sprintf("%s:%d", p.File, line), ":0")
}

// written returns the text of a scalar field as it was written; otherwise if it is not known.
func (p Place) written(field, otherwise string) string {
	if p.file == nil {
		return otherwise
	}
	root := p.parse(p.part)
	if _, n := find(root, root, p.path+"."+field); n.Kind == yamlnode.ScalarNode && n.Value != "" {
		return n.Value
	}
	return otherwise
}

// Unreadable is the error about a part of the input that cannot be read.
type Unreadable struct {
	error
	at Place
}

// Unreadable returns an error about what is at this place.
func (p Place) Unreadable(err error) error { return Unreadable{err, p} }

var lineOf = regexp.MustCompile(`(?s)^(?::|.*?\bline )(\d+):`)

// Position returns the file and the line that the error names, or the line at which the part begins. It is 1 if
// nothing has been read.
func (u Unreadable) Position() (name string, line int) {
	line, _ = u.at.Position("")
	if found := lineOf.FindStringSubmatch(strings.TrimPrefix(u.Error(), u.at.File)); found != nil {
		line, _ = strconv.Atoi(found[1])
	}
	return u.at.File, max(1, line)
}

// find follows a path from node n as far as possible, and returns the last key or item, with its value. The
// key of a map may contain dots: the longest matching key wins, and the last of equal ones.
func find(at, n *yamlnode.Node, path string) (key, value *yamlnode.Node) {
	if n.Kind == yamlnode.AliasNode {
		n = n.Alias
	}
	path = strings.TrimLeft(path, ".[]")
	index, _, _ := strings.Cut(path, "]")
	if i, err := strconv.ParseUint(index, 10, 31); err == nil && n.Kind == yamlnode.SequenceNode &&
		int(i) < len(n.Content) {
		return find(n.Content[i], n.Content[i], path[len(index):])
	}
	name := ""
	for i := 0; n.Kind == yamlnode.MappingNode && i < len(n.Content); i += 2 {
		key := n.Content[i]
		rest, fits := strings.CutPrefix(path, key.Value)
		if fits && len(key.Value) >= len(name) && key.Value != "" && strings.ContainsAny((rest + ".")[:1], ".[]") {
			name, at, value = key.Value, key, n.Content[i+1]
		}
	}
	if value == nil {
		return at, n
	}
	return find(at, value, path[len(name):])
}

// file is a source. It remembers the last look-up, because look-ups usually go forward.
type file struct {
	Source
	text    []byte
	format  string // the format of the current document: JSON or YAML
	count   int    // the number of documents so far
	copied  int    // the bytes of JSON so far that only aliases of YAML explain
	objects []object

	offset, line, column int

	parsed int // the offset of the part that the YAML parser read
	root   *yamlnode.Node
}

// start returns the offset of a part of the text, which is a slice of it.
func (f *file) start(part []byte) int { return cap(f.text) - cap(part) }

// position returns the line and the column of a part of the text. Both count from 1.
func (f *file) position(part []byte) (line, column int) {
	if f.line == 0 || f.start(part) < f.offset {
		f.offset, f.line, f.column = 0, 1, 1
	}
	between := f.text[f.offset:f.start(part)]
	if start := bytes.LastIndexByte(between, '\n') + 1; start > 0 {
		f.line, f.column = f.line+bytes.Count(between, []byte("\n")), 1
		between = between[start:]
	}
	f.offset, f.column = f.start(part), f.column+utf8.RuneCount(between)
	return f.line, f.column
}

// parse finds the positions of the fields in a part. JSON is almost YAML. If the parser rejects
// the part, or the part has more values than any object that Kubernetes stores, only its start
// is known. The result is only used for the positions in errors.
func (f *file) parse(part []byte) *yamlnode.Node {
	if f.root == nil || f.parsed != f.start(part) {
		f.parsed, f.root = f.start(part), &yamlnode.Node{Line: 1, Column: 1}
		var document yamlnode.Node
		err := guard(part, 3*mostValues, func() error { return yamlnode.Unmarshal(part, &document) })
		if err == nil && len(document.Content) > 0 {
			f.root = document.Content[0]
		}
	}
	return f.root
}

// documents cuts the text at the lines that begin or end a YAML document, even within a
// construct of YAML, and where the output of another kubectl begins: at a second apiVersion. No
// JSON value contains such a line.
func (f *file) documents() (out [][]byte) {
	start, end, versions := 0, 0, 0
	for line := range bytes.Lines(f.text) {
		mark := string(bytes.TrimRight(line[:min(4, len(line))], " \t\n"))
		separator := mark == "---" || mark == "..."
		if bytes.HasPrefix(line, []byte("apiVersion:")) {
			versions++
		}
		if separator || versions > 1 {
			out, start, versions = append(out, f.text[start:end]), end, min(versions, 1)
		}
		if separator {
			start, versions = end+len(mark), 0
			if len(bytes.TrimSpace(line)) == len(mark) {
				start = end + len(line)
			}
		}
		end += len(line)
	}
	return append(out, f.text[start:])
}

// flowStyle matches an object of YAML in flow style, such as {a: b}. A key of JSON is quoted.
var flowStyle = regexp.MustCompile(`^\s*\{\s*[^\s"}]`)

// objects reads the objects of a source, including the items of lists. A document that cannot be
// read gives an error, and no objects.
func objects(s Source, want string) (all []object, wrong []error) {
	text, err := textfile.Read(s, s.Size)
	if err != nil {
		return nil, []error{Place{File: s.Name}.Unreadable(fmt.Errorf("%s: %w", s.Name, err))}
	}
	f := &file{Source: s, text: text}
	for _, document := range f.documents() {
		read := f.readYAML
		if f.format = "YAML"; utilyaml.IsJSONBuffer(document) && !flowStyle.Match(document) {
			f.format, read = "JSON", f.readJSON
		}
		err := read(document)
		if err != nil {
			wrong = append(wrong, Place{File: s.Name, file: f, part: document}.Unreadable(err))
		}
		if errors.Is(err, errAliases) {
			break
		}
	}
	if f.count == 0 {
		err := fmt.Errorf("%s: the input is empty; want %s", s.Name, want)
		wrong = append(wrong, Place{File: s.Name}.Unreadable(err))
	}
	for _, o := range f.objects {
		if o.pod != nil || o.json[0] == '{' {
			all = append(all, o)
		} else {
			err := o.at.insteadOf(fmt.Errorf("%s is not an object; want %s", o.at, want))
			wrong = append(wrong, o.at.Unreadable(err))
		}
	}
	f.objects = nil // places refer to the file
	return all, wrong
}

// kubectlText matches what kubectl prints for people, from its beginning to the end of a line.
var kubectlText = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a message of kubectl",
		regexp.MustCompile(`^\s*((?:Error from server|error:|No resources found|The connection to the server|Unable to connect to the server).*)`)},
	{"a table of kubectl", regexp.MustCompile(`^\s*((?:NAMESPACE +)?(?:NAME|LAST SEEN) +[A-Z].*)`)},
	{"the output of kubectl describe", regexp.MustCompile(`^\s*(Name: .*)`)},
}

// insteadOf returns an error about a document. If the document is what kubectl prints for people,
// the error says so instead of err.
func (p Place) insteadOf(err error) error {
	for _, text := range kubectlText {
		if line := text.pattern.FindSubmatch(p.part); line != nil {
			return fmt.Errorf("%s is %s, %q; want the output of kubectl get -o yaml", p, text.what, line[1])
		}
	}
	return err
}

// place returns the place of the next document.
func (f *file) place(document []byte) Place {
	f.count++
	return Place{File: f.Name, number: fmt.Sprintf(": document %d", f.count), file: f, part: document}
}

// readJSON reads JSON values that follow each other. It cuts lists, so that each item is decoded once.
func (f *file) readJSON(document []byte) error {
	for text := bytes.TrimSpace(document); len(text) > 0; {
		value, rest, items := cut(text)
		if value == nil {
			return f.syntaxError(f.place(text), text)
		}
		o, format := newObject(rest, "JSON", ""), "JSON"
		if items == nil {
			items, format = o.Items, "JSON, copied"
		}
		if o.at = f.place(value); o.pod == nil {
			o.json = value
		}
		if err := f.add(o, items, format); err != nil {
			return err
		}
		text = bytes.TrimSpace(text[len(value):])
	}
	return nil
}

// readYAML reads a YAML document unless it is empty. If the document is a list whose items can be
// cut out, and the parser reads each of them as a single item, the items are converted one by
// one, on all cores.
func (f *file) readYAML(document []byte) error {
	at := f.place(document)
	list, items := cutList(document)
	list.at, list.at.path = at, "[0]"
	var inItem error
	if items != nil {
		if inItem = f.add(list, items, "YAML"); inItem == nil || errors.Is(inItem, errAliases) {
			return inItem
		}
	}
	o := newObject(asItem(document), "YAML", "")
	switch o.at = at; {
	case o.invalid() && inItem != nil && values(document) > mostValues: // too large to be parsed as a whole
		return inItem
	case o.invalid():
		if o = f.twice(document); o.invalid() {
			return f.syntaxError(at, asItem(document))
		}
		o.at = at
		return f.add(o, o.Items, "JSON")
	case string(o.json) == "null":
		f.count--
		return nil
	case f.copiesTooMuch(o):
		return fmt.Errorf("%s: %w", at, errAliases)
	}
	return f.add(o, o.Items, "JSON")
}

// twice reads a document with duplicate keys, if the source allows it.
func (f *file) twice(document []byte) (o object) {
	if !f.duplicates {
		return o
	}
	var items []json.RawMessage
	list := asItem(document)
	err := guard(list, mostValues, func() error { return yaml.Unmarshal(list, &items) })
	if err != nil || len(items) != 1 {
		return o
	}
	found := duplicateKeys(f.parse(document), "")
	if found == nil {
		return o
	}
	o = newObject(items[0], "JSON", "")
	o.duplicates = found
	return o
}

// duplicateKeys returns the paths of the keys that occur twice.
func duplicateKeys(n *yamlnode.Node, path string) (out []string) {
	seen := map[string]bool{}
	for i, child := range n.Content {
		switch {
		case n.Kind == yamlnode.SequenceNode:
			out = append(out, duplicateKeys(child, fmt.Sprintf("%s[%d]", path, i))...)
		case n.Kind == yamlnode.MappingNode && i%2 == 0:
			at := strings.TrimPrefix(path+"."+child.Value, ".")
			if seen[at] {
				out = append(out, at)
			}
			seen[at] = true
			out = append(out, duplicateKeys(n.Content[i+1], at)...)
		}
	}
	return out
}

var errAliases = errors.New("the aliases of this file repeat too much; the rest is not read")

// copiesTooMuch adds what the aliases of an object have copied. The parser only limits the aliases of a
// single document.
func (f *file) copiesTooMuch(o object) bool {
	f.copied += o.copied
	return f.copied > 4<<20
}

// syntaxError returns why the parser rejects JSON, or a YAML list of one item, which is at a place, with the
// line in the whole text.
func (f *file) syntaxError(at Place, list []byte) error {
	if err := f.unrendered(at); err != nil {
		return err
	}
	var syntax *json.SyntaxError
	if f.format == "JSON" && errors.As(json.Unmarshal(list, new(json.RawMessage)), &syntax) {
		line, _ := f.position(at.part[max(0, syntax.Offset-1):])
		return fmt.Errorf("%s: line %d: %w", at, line, syntax)
	}
	line, _ := f.position(at.part)
	_, err := toJSON(append(bytes.Repeat([]byte("\n"), line-1), list...))
	if err == nil {
		err = errors.New("the YAML parser cannot read this")
	}
	return at.insteadOf(fmt.Errorf("%s: %w", at, err))
}

// add adds an object or, if it is a list, its items, unless one of them cannot be converted to
// JSON. Items of a PodList are Pods, even if they do not name their kind.
func (f *file) add(list object, items []json.RawMessage, format string) error {
	kind := strings.TrimSuffix(list.Kind, "List")
	switch {
	case !list.isList():
		f.keep(list, list.at)
		return nil
	case list.wrong != nil && list.Items == nil:
		return fmt.Errorf("%s: the items of the %s are not a list", list.at, list.Kind)
	}
	before, at := len(f.objects), list.at
	for i, o := range inOrder(len(items), func(i int) object { return newObject(items[i], format, kind) }) {
		at.number = fmt.Sprintf("%s, item %d", list.at.number, i+1)
		if format != f.format { // only the YAML parser knows where the items are
			at.path = fmt.Sprintf("items[%d]", i)
		} else {
			at.part = items[i]
		}
		if o.invalid() {
			f.objects = f.objects[:before]
			return f.syntaxError(at, items[i])
		}
		if f.copiesTooMuch(o) {
			f.objects = f.objects[:before]
			return fmt.Errorf("%s: %w", at, errAliases)
		}
		o.Kind, o.APIVersion = cmp.Or(o.Kind, kind), cmp.Or(o.APIVersion, list.APIVersion)
		o.duplicates, _ = below(fmt.Sprintf("items[%d]", i), list.duplicates)
		f.keep(o, at)
	}
	return nil
}

// keep adds an object, or that of an event of kubectl get --watch --output-watch-events, and reports how much of the
// text has been read.
func (f *file) keep(o object, at Place) {
	if event := o; event.Kind == "" && event.Type != "" && event.Object != nil {
		o = newObject(event.Object, "JSON", "")
		o.gone, at.path = event.Type == "DELETED", at.path+".object"
	}
	o.at = at
	f.objects = append(f.objects, o)
	if f.Progress != nil {
		f.Progress(f.format, f.start(at.part)+len(at.part), len(f.text))
	}
}

// ahead is how many results of a goroutine wait for the caller.
const ahead = 4

// inOrder yields produce(0) to produce(n-1) in order. It runs produce on all cores, a few calls ahead of the
// caller. Each goroutine makes many calls, because its stack grows during the first.
func inOrder[T any](n int, produce func(int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		stop := make(chan struct{})
		defer close(stop)
		results := make([]chan T, min(n, runtime.GOMAXPROCS(0)))
		for first := range results {
			results[first] = make(chan T, ahead)
			go func() {
				for i := first; i < n; i += len(results) {
					select {
					case results[first] <- produce(i):
					case <-stop:
						return
					}
				}
			}()
		}
		for i := range n {
			if !yield(i, <-results[i%len(results)]) {
				return
			}
		}
	}
}
