// Package document reads YAML and JSON as JSON, and knows where its fields stand.
//
// YAML is converted by the parser of kubectl, YAML 1.1, but no key may occur twice.
// Another parser, which knows lines and columns, is asked where a field stands, and
// whether a document ends where the first one stopped to read it.
//
// Text that has been cut short, pasted together or edited by mistake is refused
// rather than understood in part.
package document

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Source is a file, or something else to read from, with its name.
type Source struct {
	Name string
	io.Reader
	// Size is how many bytes there are, if that is known.
	Size int
	// Progress, if it is set, is called now and then while much is read: which
	// kind of text it is, YAML or JSON, and how many bytes of it have been read.
	Progress func(kind string, done, total int)
}

// Document is an object or a list.
type Document struct {
	metav1.TypeMeta
	// JSON is the document. That of a long list lacks the items.
	JSON []byte
	Place
	// Items are those of a list, and NoItems says that there is something else in
	// their place. ItemAt returns where the next one stands.
	Items   []Item
	NoItems bool
	ItemAt  func(item []byte) Place
}

// Item is the JSON of an item.
type Item []byte

// UnmarshalJSON takes a part of the document for the item: it is not copied, because
// a long list is most of the memory that reading takes, and nothing changes it.
func (i *Item) UnmarshalJSON(json []byte) error {
	*i = json
	return nil
}

// newDocument returns what a JSON says of itself.
func newDocument(value []byte) (d Document, err error) {
	var says struct {
		metav1.TypeMeta
		Items []Item `json:"items"`
	}
	err = utiljson.Unmarshal(value, &says)
	return Document{TypeMeta: says.TypeMeta, JSON: value, Items: says.Items, NoItems: err != nil}, err
}

// reader goes through the documents of a text.
type reader struct {
	*text
	f         func(Document) error
	progress  func(kind string, done, total int)
	documents int
	whole     bool // lists are not cut, for tests
}

// Read calls f with each document of a source that is not empty, until it fails.
func Read(s Source, f func(Document) error) error {
	t, err := readText(s)
	if err != nil {
		return err
	}
	r := reader{text: t, f: f, progress: s.Progress}
	if r.progress == nil {
		r.progress = func(string, int, int) {}
	}
	return r.read()
}

func (r *reader) read() error {
	for _, d := range r.split() {
		read := r.readYAML
		if values, is := r.jsonValues(d); is {
			d, read = values, r.readJSON
		}
		if err := read(d); err != nil {
			return err
		}
	}
	return nil
}

// place returns the place of the next document.
func (r *reader) place(part span) Place {
	r.documents++
	return Place{File: r.name, Document: r.documents, text: r.text, part: part}
}
