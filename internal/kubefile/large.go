package kubefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// A file of this size or more is read piece by piece: the items of a list one
// after the other, and of a pod only what is needed. A smaller one is read
// whole, with every check.
const large = 1 << 20

// eachLarge is each for a file that is too large to be held in memory.
func eachLarge(s Source, in *bufio.Reader, want string, add func(object) error) error {
	r := &stream{in: in, at: Place{File: s.Name}, want: want, add: add, line: 1}
	if mark, _ := in.Peek(len(byteOrderMark)); bytes.Equal(mark, byteOrderMark) {
		_, _ = in.Discard(len(byteOrderMark))
	}
	for {
		isJSON, err := r.next()
		switch {
		case errors.Is(err, io.EOF) && r.at.Document > 0:
			return nil
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s: it is empty; want %s", s.Name, want)
		case err != nil:
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.at.Document++
		r.at.line = r.line
		if isJSON {
			err = r.json()
		} else {
			err = r.yaml()
		}
		if err != nil {
			return err
		}
	}
}

// stream goes through a large file.
type stream struct {
	in   *bufio.Reader
	at   Place
	want string
	add  func(object) error
	line int // of the file, at which the stream is

	buffer    []byte // for the line or the value that is read; used again
	converter converter
	pods      podReader
}

// next moves on to the next document and reports whether it is JSON.
func (r *stream) next() (isJSON bool, err error) {
	for {
		b, err := r.in.ReadByte()
		switch {
		case err != nil:
			return false, err
		case b == '\n':
			r.line++
		case b == ' ' || b == '\t' || b == '\r':
		case b == '#':
			if err := r.skipLine(); err != nil {
				return false, err
			}
		case b == '-' || b == '.':
			rest, _ := r.in.Peek(2)
			if _, ok := afterSeparator(append([]byte{b}, rest...)); !ok {
				return false, r.in.UnreadByte()
			}
			_, _ = r.in.Discard(len(rest))
		default:
			return b == '{', r.in.UnreadByte()
		}
	}
}

func (r *stream) skipLine() error {
	_, err := r.readLine()
	return err
}

// readLine returns the next line with its end. It is valid until the next call.
func (r *stream) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.buffer = append(r.buffer[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.in.ReadSlice('\n')
			r.buffer = append(r.buffer, line...)
		}
		line = r.buffer
	}
	if bytes.HasSuffix(line, []byte("\n")) {
		r.line++
	}
	if len(line) > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// list gathers the items of a list whose kind may come after them.
type list struct {
	pending []object // without a kind of their own
	items   int
}

// item hands an item on, unless its kind is still to come.
func (r *stream) item(l *list, value []byte, at Place) error {
	h, err := readHeader(value, at, r.want)
	if err != nil {
		return err
	}
	o := object{header: h, value: value, at: at}
	if h.Kind == "" && h.APIVersion == "" {
		o.value = bytes.Clone(value)
		l.pending = append(l.pending, o)
		return nil
	}
	return r.add(o)
}

// pod hands on what is kept of a pod. It is read once only, so what item would
// have found out by reading its head is seen in the result. Of what is kept,
// nothing else can be an object of the name spec or status.
func (r *stream) pod(l *list, value []byte, at Place) error {
	pod, err := object{value: value, at: at}.pod()
	if err != nil {
		return err
	}
	o := podObject(pod, value, at)
	if o.typeOf() != typePod || !bytes.Contains(value, []byte(`"spec":{`)) || !bytes.Contains(value, []byte(`"status":{`)) {
		return r.item(l, value, at)
	}
	return r.add(o)
}

// podObject is a pod that has been read, with a spec and a status.
func podObject(pod *corev1.Pod, value []byte, at Place) object {
	there := json.RawMessage("{}")
	return object{header{APIVersion: pod.APIVersion, Kind: pod.Kind, Spec: there, Status: there}, value, at, pod}
}

// end hands on what a document holds besides the items that were handed on
// before: itself when it is no list, and the items that have no kind.
func (r *stream) end(l *list, value json.RawMessage, at Place) error {
	h, err := readHeader(value, at, r.want)
	if err != nil {
		return err
	}
	element, ok := lists[h.typeOf()]
	switch {
	case !ok && l.items > 0:
		return object{header: h, value: value, at: at}.check(r.want)
	case !ok:
		return r.add(object{header: h, value: value, at: at})
	}
	for _, o := range l.pending {
		o.APIVersion, o.Kind = element.apiVersion, element.kind
		if err := r.add(o); err != nil {
			return err
		}
	}
	return nil
}
