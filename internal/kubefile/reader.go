package kubefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/parallel"
)

// reader goes through the documents of a source and adds the objects in them.
type reader struct {
	Source
	want       string // what an error says should be there
	add        func(object) error
	documents  int
	format     string // JSON or YAML
	done, size int    // how much of the text has been read
	last       *parsed
}

// each calls add with each object of a source, those in lists included.
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
		return fmt.Errorf("%s: it is empty; want %s", s.Name, want)
	}
	return nil
}

// place returns the place of the next document.
func (r *reader) place(document part) Place {
	r.documents++
	return Place{File: r.Name, Document: r.documents, part: document, last: r.last}
}

// progress tells how far the text has been read.
func (r *reader) progress(done int) {
	if r.Progress != nil && done > r.done {
		r.done = done
		r.Progress(r.format, done, r.size)
	}
}

// raw is the text of a value.
type raw = json.RawMessage

// document is the JSON of an object or of a list of them.
type document struct {
	metav1.TypeMeta
	Items []raw `json:"items"`
	json  raw
	wrong error // why it cannot be decoded
	// texts are the items as they stand in the text, one after the other; nil if
	// only the YAML parser knows where they are.
	texts []raw
}

// newDocument decodes what a JSON says of itself.
func newDocument(text []byte) (d document) {
	d.wrong = json.Unmarshal(text, &d)
	d.json, d.texts = text, d.Items
	return d
}

// addAll adds the object that a document is, or those in the list. Items of a PodList
// are Pods, even if they do not say so.
func (r *reader) addAll(d document, at Place) error {
	element := metav1.TypeMeta{APIVersion: d.APIVersion}
	isList := false
	if element.Kind, isList = strings.CutSuffix(d.Kind, "List"); !isList {
		d.Items, element = []raw{d.json}, metav1.TypeMeta{}
	} else if d.wrong != nil {
		return fmt.Errorf("%s: the items of the %s are no list", at, d.Kind)
	}
	rest := at.part
	for i, o := range parallel.InOrder(len(d.Items), func(i int) object { return newObject(d.Items[i], element) }) {
		o.at = at
		if isList {
			o.at.Item = i + 1
		}
		switch {
		case isList && d.texts == nil:
			o.at.path = fmt.Sprintf("items[%d]", i)
		case isList:
			_, rest = rest.cut(bytes.Index(rest.text, d.texts[i]))
			o.at.part, rest = rest.cut(len(d.texts[i]))
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

// readJSON reads JSON values that stand one after the other.
func (r *reader) readJSON(p part) error {
	for value := p.trimmed(); len(value.text) > 0; {
		var rest part
		var syntax *json.SyntaxError
		d := newDocument(value.text)
		if errors.As(d.wrong, &syntax) { // where the next value starts, unless this one is broken
			value, rest = value.cut(int(syntax.Offset) - 1)
			value = value.trimmed()
			d = newDocument(value.text)
		}
		at := r.place(value)
		if errors.As(d.wrong, new(*json.SyntaxError)) {
			return fmt.Errorf("%s: line %d: %w", at, rest.line, syntax)
		}
		if err := r.addAll(d, at); err != nil {
			return err
		}
		value = rest
	}
	return nil
}
