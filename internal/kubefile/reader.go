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

// reader goes through the documents of a text and adds the objects in them.
type reader struct {
	*text
	Source
	add       func(object) error
	documents int
}

const space = " \t\n\uFEFF"

// each calls add with each object of a source, those in lists included. want is
// what an error says should be there.
func each(s Source, want string, add func(object) error) error {
	t, err := readText(s)
	if err != nil {
		return err
	}
	r := reader{text: t, Source: s, add: func(o object) error {
		if o.json[0] != '{' {
			return fmt.Errorf("%s is not an object; want %s", o.at, want)
		}
		return add(o)
	}}
	for _, part := range t.documents() {
		read := r.readYAML
		if bytes.HasPrefix(bytes.TrimLeft(part.in(t.bytes), space), []byte("{")) {
			read = r.readJSON
		}
		if err := read(part); err != nil {
			return err
		}
	}
	if r.documents == 0 {
		return fmt.Errorf("%s: it is empty; want %s", s.Name, want)
	}
	return nil
}

// place returns the place of the next document.
func (r *reader) place(part span) Place {
	r.documents++
	return Place{File: r.Name, Document: r.documents, text: r.text, part: part}
}

// progress tells how far a text of some kind has been read.
func (r *reader) progress(kind string, done int) {
	if r.Progress != nil {
		r.Progress(kind, done, len(r.bytes))
	}
}

// document is an object or a list of them, whose places itemAt returns in their order.
type document struct {
	metav1.TypeMeta
	Items []json.RawMessage `json:"items"`
	json  []byte
	// wrong is why the items cannot be read.
	wrong  error
	at     Place
	itemAt func(i int) Place
}

// newDocument returns what a JSON says of itself.
func newDocument(text []byte) document {
	d := document{json: text}
	d.wrong = utiljson.Unmarshal(text, &d)
	return d
}

// addAll adds the object that a document is, or those in the list. Items of a PodList
// are Pods, even if they do not say so.
func (r *reader) addAll(d document) error {
	kind, isList := strings.CutSuffix(d.Kind, "List")
	if !isList {
		o := newObject(d.json, d.TypeMeta)
		o.at = d.at
		return r.add(o)
	}
	if d.wrong != nil {
		return fmt.Errorf("%s: the items of the %s are no list", d.at, d.Kind)
	}
	element := metav1.TypeMeta{Kind: kind, APIVersion: d.APIVersion}
	for i, o := range parallel.InOrder(len(d.Items), func(i int) object { return newObject(d.Items[i], element) }) {
		o.at = d.itemAt(i)
		o.at.Item = i + 1
		if err := r.add(o); err != nil {
			return err
		}
	}
	return nil
}

// readJSON reads JSON values that stand one after the other.
func (r *reader) readJSON(rest span) error {
	rest.end = rest.start + len(bytes.TrimRight(rest.in(r.bytes), space))
	for {
		rest.start = rest.end - len(bytes.TrimLeft(rest.in(r.bytes), space))
		if rest.start == rest.end {
			return nil
		}
		d, err := firstJSON(rest.in(r.bytes))
		value := span{rest.start, rest.start + len(d.json)}
		d.at = r.place(value)
		if err != nil {
			line, _ := r.position(value.end)
			return fmt.Errorf("%s: line %d: %w", d.at, line, err)
		}
		at := d.at
		at.part.end = at.part.start
		d.itemAt = func(i int) Place { // one after the other
			at.part.start = at.part.end + bytes.Index(r.bytes[at.part.end:], d.Items[i])
			at.part.end = at.part.start + len(d.Items[i])
			r.progress("JSON", at.part.end)
			return at
		}
		if err := r.addAll(d); err != nil {
			return err
		}
		rest.start = value.end
	}
}

// firstJSON returns the first of the JSON values of a text, most often the only one.
// With an error, its JSON ends where it goes wrong.
func firstJSON(text []byte) (document, error) {
	if d := newDocument(text); d.wrong == nil || json.Valid(text) {
		return d, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var syntax *json.SyntaxError
	switch err := decoder.Decode(new(json.RawMessage)); {
	case errors.As(err, &syntax):
		return document{json: text[:syntax.Offset-1]}, err
	case err != nil:
		return document{json: text}, err
	}
	return newDocument(text[:decoder.InputOffset()]), nil
}
