package kubefile

import (
	"bytes"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
)

// A large list of YAML, as kubectl prints it, is cut into pieces, to be parsed by
// all cores and one after the other. A piece has whole items, as far as their
// indentation tells, but the parser has the last word: where it does not take a
// piece for a list by itself, the cut was within an item, and nothing is cut.
const (
	pieceSize = 256 << 10
	itemsKey  = "\nitems:\n"
	// hole stands in the place of the items in the rest of the list.
	hole = "the items stand here, and nowhere else does this text"
)

var errNoList = errors.New("not a list")

// pieces reads a part that is a large list. It reports whether it is one.
func (r *reader) pieces(p span) (done bool, err error) {
	rest, pieces := r.text.cut(p, r.pieceSize)
	var list map[string]any
	err = eachYAML(rest, func(value any) error {
		if list != nil {
			return errNoList
		}
		list, _ = value.(map[string]any)
		return nil
	})
	o := object{}
	o.Kind, _ = list["kind"].(string)
	o.APIVersion, _ = list["apiVersion"].(string)
	if err != nil || list["items"] != hole || !o.isList() {
		return false, nil
	}
	var items []object
	for i, more := range inOrder(len(pieces), func(i int) []object { return r.text.items(pieces[i]) }) {
		if more == nil {
			return false, nil
		}
		items = append(items, more...)
		r.progress("YAML", pieces[i].end, len(r.text.bytes))
	}
	o.at = r.nextPlace(p, 0)
	return true, r.document(o, true, slices.Values(items))
}

// cut cuts a list at its items. It returns the rest of it, and pieces with items;
// nothing when this does not look like a large list. Text with other ends of lines
// is not cut: it could have further documents.
func (t *text) cut(p span, size int) (rest []byte, pieces []span) {
	whole := t.bytes[p.start:p.end]
	key := bytes.Index(whole, []byte(itemsKey))
	if len(whole) < 4*size || key < 0 || slices.ContainsFunc([]string{"\r", "\u0085", "\u2028", "\u2029", hole},
		func(other string) bool { return bytes.Contains(whole, []byte(other)) }) {
		return nil, nil
	}
	start, end := key+len(itemsKey), len(whole)
	item := append(bytes.Clone(whole[start:len(whole)-len(bytes.TrimLeft(whole[start:], " "))]), "- "...)
	for at := start; at < end; at += 1 + bytes.IndexByte(whole[at:end], '\n') {
		if strings.IndexByte(" -#\n", whole[at]) < 0 {
			end = at // a key of the list itself
			break
		}
		if at-start >= size && bytes.HasPrefix(whole[at:], item) {
			pieces = append(pieces, span{p.start + start, p.start + at})
			start = at
		}
		if bytes.IndexByte(whole[at:end], '\n') < 0 {
			break
		}
	}
	pieces = append(pieces, span{p.start + start, p.start + end})
	return slices.Concat(whole[:key], []byte("\nitems: "+hole+"\n"), whole[end:]), pieces
}

// items returns the items of a piece; nil when it is not a list by itself.
func (t *text) items(piece span) (items []object) {
	err := eachYAML(t.bytes[piece.start:piece.end], func(value any) error {
		list, ok := value.([]any)
		if !ok || items != nil {
			return errNoList
		}
		items = slices.AppendSeq(items, yamlItems(list, Place{text: t, part: piece}, ""))
		return nil
	})
	if err != nil {
		return nil
	}
	return items
}

// inOrder returns what produce makes of the numbers below n, in their order. It is
// called on all cores, and not much further ahead than the results are used.
func inOrder[T any](n int, produce func(int) T) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		pending, done := make(chan chan T, runtime.GOMAXPROCS(0)), make(chan struct{})
		defer close(done)
		go func() {
			for i := range n {
				result := make(chan T, 1)
				select {
				case pending <- result:
					go func() { result <- produce(i) }()
				case <-done:
					return
				}
			}
		}()
		for i := range n {
			if !yield(i, <-<-pending) {
				return
			}
		}
	}
}
