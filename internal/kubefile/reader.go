package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/jobfate/jobfate/internal/parallel"
)

// reader reads the documents of a source and calls add with their objects.
type reader struct {
	Source
	want       string // what the source should contain, for errors
	add        func(object) error
	documents  int
	format     string // JSON or YAML
	done, size int    // bytes that have been read, of all
	last       *parsed
}

// each calls add with each object of a source, including the items of lists.
func each(s Source, want string, add func(object) error) error {
	whole, err := readText(s)
	if err != nil {
		return err
	}
	r := reader{Source: s, size: len(whole.text), want: want, add: add, last: &parsed{}}
	for _, document := range whole.documents() {
		read := r.readYAML
		if r.format = "YAML"; bytes.HasPrefix(document.trimmed().text, []byte("{")) {
			r.format, read = "JSON", r.readJSON
		}
		if err := read(document); err != nil {
			return err
		}
	}
	if r.documents == 0 {
		return fmt.Errorf("%s: the input is empty; want %s", s.Name, want)
	}
	return nil
}

// place returns the place of the next document.
func (r *reader) place(document part) Place {
	r.documents++
	return Place{File: r.Name, Document: r.documents, part: document, last: r.last}
}

// progress reports how much of the text has been read.
func (r *reader) progress(done int) {
	if r.Progress != nil && done > r.done {
		r.done = done
		r.Progress(r.format, done, r.size)
	}
}

// raw is the text of a value.
type raw = json.RawMessage

// document is an object or a list of them.
type document struct {
	metav1.TypeMeta
	Items []raw `json:"items"`
	json  raw
	wrong error // why it cannot be decoded
}

// newDocument decodes the type and the items of a JSON document.
func newDocument(text raw) document {
	d := document{json: text}
	d.wrong = utiljson.Unmarshal(text, &d)
	return d
}

// addAll adds the object in a document, or the items of a list. Items of a PodList are Pods,
// even if they do not name their kind. texts are the items as they occur in the document, one
// after the other; nil if only the YAML parser knows where they are.
func (r *reader) addAll(d document, at Place, texts []raw) error {
	kind, isList := strings.CutSuffix(d.Kind, "List")
	element := metav1.TypeMeta{Kind: kind, APIVersion: d.APIVersion}
	switch {
	case !isList:
		d.Items, element = []raw{d.json}, metav1.TypeMeta{}
	case d.wrong != nil:
		return fmt.Errorf("%s: the items of the %s are not a list", at, d.Kind)
	}
	rest := at.part
	for i, o := range parallel.InOrder(len(d.Items), func(i int) object { return newObject(d.Items[i], element) }) {
		if o.at = at; isList {
			o.at.Item = i + 1
		}
		if isList && texts == nil {
			o.at.path = fmt.Sprintf("items[%d]", i)
		} else if isList {
			_, rest = rest.cut(bytes.Index(rest.text, texts[i]))
			o.at.part, rest = rest.cut(len(texts[i]))
		}
		r.progress(o.at.offset)
		if o.json[0] != '{' {
			return fmt.Errorf("%s is not an object; want %s", o.at, r.want)
		}
		if err := r.add(o); err != nil {
			return err
		}
	}
	return nil
}

// readJSON reads JSON values that follow each other.
func (r *reader) readJSON(rest part) error {
	for rest = rest.trimmed(); len(rest.text) > 0; rest = rest.trimmed() {
		value, after := rest, part{}
		d := newDocument(value.text)
		var syntax *json.SyntaxError
		if d.wrong != nil && errors.As(json.Unmarshal(value.text, &raw{}), &syntax) { // the offset of the next value, or of an error in this one
			value, after = rest.cut(int(syntax.Offset) - 1)
			value = value.trimmed()
			d = newDocument(value.text)
		}
		at := r.place(value)
		if syntax != nil && !json.Valid(value.text) {
			return fmt.Errorf("%s: line %d: %w", at, after.line, syntax)
		}
		if err := r.addAll(d, at, d.Items); err != nil {
			return err
		}
		rest = after
	}
	return nil
}
