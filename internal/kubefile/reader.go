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
		if r.format = "YAML"; bytes.HasPrefix(bytes.TrimLeft(document.text, space), []byte("{")) {
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

// readJSON reads JSON values that follow each other.
func (r *reader) readJSON(rest part) error {
	rest.text = bytes.TrimRight(rest.text, space)
	for {
		_, rest = rest.cut(len(rest.text) - len(bytes.TrimLeft(rest.text, space)))
		if len(rest.text) == 0 {
			return nil
		}
		value, after := rest, part{}
		o := newObject(value.text, metav1.TypeMeta{})
		var syntax *json.SyntaxError
		if o.wrong != nil && errors.As(json.Unmarshal(value.text, &raw{}), &syntax) { // the offset of the next value, or of an error in this one
			value, after = rest.cut(int(syntax.Offset) - 1)
			value.text = bytes.TrimRight(value.text, space)
			o = newObject(value.text, metav1.TypeMeta{})
		}
		o.at = r.place(value)
		if syntax != nil && !json.Valid(value.text) {
			return fmt.Errorf("%s: line %d: %w", o.at, after.line, syntax)
		}
		if err := r.addAll(o, o.Items); err != nil {
			return err
		}
		rest = after
	}
}

// addAll adds an object or, if it is a list, its items. Items of a PodList are Pods, even if
// they do not name their kind. texts are the items as they occur in the text, one after the
// other; nil if only the YAML parser knows where they are.
func (r *reader) addAll(o object, texts []raw) error {
	kind, isList := strings.CutSuffix(o.Kind, "List")
	if !isList {
		return r.addOne(o)
	}
	if o.wrong != nil && utiljson.Unmarshal(o.json, &o.header) != nil {
		return fmt.Errorf("%s: the items of the %s are not a list", o.at, o.Kind)
	}
	at, rest, element := o.at, o.at.part, metav1.TypeMeta{Kind: kind, APIVersion: o.APIVersion}
	for i, item := range parallel.InOrder(len(o.Items), func(i int) object { return newObject(o.Items[i], element) }) {
		at.Item = i + 1
		if texts == nil {
			at.path = fmt.Sprintf("items[%d]", i)
		} else {
			_, rest = rest.cut(bytes.Index(rest.text, texts[i]))
			at.part, rest = rest.cut(len(texts[i]))
		}
		item.at = at
		if err := r.addOne(item); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) addOne(o object) error {
	r.progress(o.at.offset)
	if o.json[0] != '{' {
		return fmt.Errorf("%s is not an object; want %s", o.at, r.want)
	}
	return r.add(o)
}
