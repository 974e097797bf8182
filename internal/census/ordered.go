package census

import (
	"iter"
	"slices"
	"sort"
)

// ordered is a sorted set. It is stored in chunks, so that a change moves a few hundred
// items at most. Of items that compare as equal it holds one. A nil set is empty.
//
// Invariant: the items increase strictly, from chunk to chunk as well; no chunk is empty
// or holds more than mostItems; n is the number of items.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T
	n       int
	// Memory for the first chunks and the first item: most sets stay small.
	first [4][]T
	item  [1]T
}

// mostItems is how many items a chunk holds at most.
const mostItems = 256

// newOrdered returns a set of sorted items. It takes over the slice.
func newOrdered[T any](compare func(a, b T) int, out []T) *ordered[T] {
	o := &ordered[T]{compare: compare, n: len(out)}
	o.chunks = slices.Grow(o.first[:0], len(out)/mostItems)
	for at := 0; at < len(out); at += mostItems {
		o.chunks = append(o.chunks, slices.Clip(out[at:min(at+mostItems, len(out))]))
	}
	return o
}

// len returns the number of items.
func (o *ordered[T]) len() int {
	if o == nil {
		return 0
	}
	return o.n
}

// search returns the position of the first item that is not before x, and whether that
// item equals x.
func (o *ordered[T]) search(x T) (chunk, at int, found bool) {
	if o == nil {
		return 0, 0, false
	}
	chunk = sort.Search(len(o.chunks), func(i int) bool {
		items := o.chunks[i]
		return o.compare(items[len(items)-1], x) >= 0
	})
	if chunk == len(o.chunks) {
		return chunk, 0, false
	}
	at, found = slices.BinarySearchFunc(o.chunks[chunk], x, o.compare)
	return chunk, at, found
}

// get returns the item that equals x; nil if there is none.
func (o *ordered[T]) get(x T) *T {
	if chunk, at, found := o.search(x); found {
		return &o.chunks[chunk][at]
	}
	return nil
}

// insert adds an item, unless there is an equal one.
func (o *ordered[T]) insert(x T) {
	chunk, at, found := o.search(x)
	switch {
	case found:
		return
	case len(o.chunks) == 0:
		o.chunks = append(o.chunks, o.item[:0])
	case chunk == len(o.chunks):
		chunk--
		at = len(o.chunks[chunk])
	}
	o.n++
	items := slices.Insert(o.chunks[chunk], at, x)
	if len(items) <= mostItems {
		o.chunks[chunk] = items
		return
	}
	half := len(items) / 2
	o.chunks[chunk] = slices.Clone(items[:half])
	o.chunks = slices.Insert(o.chunks, chunk+1, slices.Clone(items[half:]))
}

// remove removes the item that equals x, if there is one.
func (o *ordered[T]) remove(x T) {
	chunk, at, found := o.search(x)
	if !found {
		return
	}
	o.n--
	o.chunks[chunk] = slices.Delete(o.chunks[chunk], at, at+1)
	if len(o.chunks[chunk]) == 0 {
		o.chunks = slices.Delete(o.chunks, chunk, chunk+1)
	}
}

// last returns the last item before x, if there is one.
func (o *ordered[T]) last(x T) (item T, ok bool) {
	chunk, at, _ := o.search(x)
	switch {
	case at > 0:
		return o.chunks[chunk][at-1], true
	case chunk > 0:
		items := o.chunks[chunk-1]
		return items[len(items)-1], true
	}
	return item, false
}

// all yields the items in order.
func (o *ordered[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		if o == nil {
			return
		}
		for _, items := range o.chunks {
			for _, item := range items {
				if !yield(item) {
					return
				}
			}
		}
	}
}
