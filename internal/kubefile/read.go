package kubefile

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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

// Input is Jobs and their pods, with the places where they stand.
type Input struct {
	// Jobs are in the order of the input, one at least.
	Jobs []*Manifest
	// Pods are all pods of the input in their order, and PodsAt their places.
	Pods   []*corev1.Pod
	PodsAt []Place
	Evidence
	// Skipped counts the objects of other kinds.
	Skipped Kinds
}

// Evidence is what else the input has that may tell why a pod does not run.
type Evidence struct {
	Events []*corev1.Event
	Nodes  []*corev1.Node
}

// Kinds counts objects by their kind.
type Kinds map[string]int

// String returns the kinds in the order of the alphabet: "ConfigMap, Service (2)".
func (k Kinds) String() string {
	out := slices.Sorted(maps.Keys(k))
	for i, kind := range out {
		if n := k[kind]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d)", kind, n)
		}
	}
	return strings.Join(out, ", ")
}

// Read reads Jobs and their pods. An error of a source names it.
func Read(sources ...Source) (*Input, error) {
	return read(sources, "a Job and its pods", (*Input).add)
}

// read calls add with each object. There must be a Job.
func read(sources []Source, want string, add func(*Input, object) error) (*Input, error) {
	in := &Input{Skipped: Kinds{}}
	for _, s := range sources {
		err := each(s, want, func(o object) error {
			if err := o.check(want); err != nil {
				return err
			}
			return add(in, o)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(in.Jobs) == 0 {
		return nil, noJob(sources, in.Skipped, want)
	}
	return in, nil
}

// noJob says that there is no Job, and what there is instead.
func noJob(sources []Source, skipped Kinds, want string) error {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name
	}
	instead := ""
	if len(skipped) > 0 {
		instead = ", only " + skipped.String()
	}
	return fmt.Errorf("%s: there is no Job in it%s; want %s", strings.Join(names, ", "), instead, want)
}

// each calls add with each object of a source, those in lists included. want is
// what an error says should be there.
func each(s Source, want string, add func(object) error) error {
	r := reader{want: want, add: add, progress: s.Progress, pieceSize: pieceSize}
	if r.progress == nil {
		r.progress = func(string, int, int) {}
	}
	return r.each(s)
}

func (r *reader) each(s Source) (err error) {
	if r.text, err = readText(s); err != nil {
		return err
	}
	for _, p := range r.text.parts() {
		read := r.yaml
		if p.json {
			read = r.json
		}
		if err := read(p.span); err != nil {
			return err
		}
	}
	if r.documents == 0 {
		return fmt.Errorf("%s: it is empty; want %s", s.Name, r.want)
	}
	return nil
}

// reader goes through the documents of a text.
type reader struct {
	text      *text
	want      string // what an error says should be there
	add       func(object) error
	progress  func(kind string, done, total int)
	documents int
	pieceSize int // into which a large list is cut
}

// nextPlace returns the place of the next document, the index-th in a part.
func (r *reader) nextPlace(part span, index int) Place {
	r.documents++
	return Place{File: r.text.name, Document: r.documents, text: r.text, part: part, index: index}
}

// document hands on the object that a document is, or the items of a list.
func (r *reader) document(o object, itemsOK bool, items iter.Seq[object]) error {
	if !o.isList() {
		return r.add(o)
	}
	if !itemsOK {
		return fmt.Errorf("%s: the items of the %s are no list", o.at, o.Kind)
	}
	element, number := lists[o.typeOf()], 0
	for item := range items {
		number++
		item.at.File, item.at.Document, item.at.Item = o.at.File, o.at.Document, number
		if item.Kind == "" && item.APIVersion == "" {
			item.APIVersion, item.Kind = element.apiVersion, element.kind
		}
		if err := r.add(item); err != nil {
			return err
		}
	}
	return nil
}

// add takes an object of a snapshot.
func (in *Input) add(o object) error {
	switch o.typeOf() {
	case typePod:
		return in.addPod(o)
	case typeJob:
		if err := o.checkWhole(); err != nil {
			return err
		}
		m := o.manifest()
		if len(m.Problems) > 0 {
			return m.Problems[0].at(o.at)
		}
		in.Jobs = append(in.Jobs, m)
		return nil
	case typeEvent:
		in.Events = append(in.Events, &corev1.Event{})
		return o.decode(in.Events[len(in.Events)-1])
	case typeNode:
		in.Nodes = append(in.Nodes, &corev1.Node{})
		return o.decode(in.Nodes[len(in.Nodes)-1])
	}
	in.Skipped[o.Kind]++
	return nil
}

func (in *Input) addPod(o object) error {
	if o.pod == nil {
		if err := o.checkWhole(); err != nil {
			return err
		}
		var pod podDocument
		if err := o.decode(&pod); err != nil {
			return err
		}
		o.pod = pod.pod()
		o.pod.TypeMeta.Kind, o.pod.TypeMeta.APIVersion = o.Kind, o.APIVersion
	}
	in.Pods, in.PodsAt = append(in.Pods, o.pod), append(in.PodsAt, o.at)
	return nil
}
