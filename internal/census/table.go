package census

import (
	"iter"
	"slices"
)

// table is a map. It holds a few entries in a list, because most Jobs have one pod, and a map takes
// 256 bytes.
type table[K comparable, V any] struct {
	list []entry[K, V]
	many map[K]V // nil while there are few entries
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

const few = 8

// newTable returns a table with memory for n entries.
func newTable[K comparable, V any](n int) (t table[K, V]) {
	if n > few {
		t.many = make(map[K]V, n)
	}
	return t
}

func (t *table[K, V]) len() int { return len(t.list) + len(t.many) }

func (t *table[K, V]) get(key K) (value V) {
	if t.many != nil {
		return t.many[key]
	}
	for i := range t.list {
		if t.list[i].key == key {
			return t.list[i].value
		}
	}
	return value
}

func (t *table[K, V]) put(key K, value V) {
	for i := range t.list {
		if t.list[i].key == key {
			t.list[i].value = value
			return
		}
	}
	switch {
	case t.many != nil:
		t.many[key] = value
	case len(t.list) < few:
		t.list = append(t.list, entry[K, V]{key, value})
	default:
		t.many = map[K]V{key: value}
		for _, e := range t.list {
			t.many[e.key] = e.value
		}
		t.list = nil
	}
}

func (t *table[K, V]) remove(key K) {
	delete(t.many, key)
	t.list = slices.DeleteFunc(t.list, func(e entry[K, V]) bool { return e.key == key })
}

// all yields the entries, in no particular order. The loop may remove an entry that it got.
func (t *table[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, e := range slices.Backward(t.list) {
			if !yield(e.key, e.value) {
				return
			}
		}
		for key, value := range t.many {
			if !yield(key, value) {
				return
			}
		}
	}
}

// pages holds a value for each index, in pages of 16: the pods of a Job mostly have adjacent
// indexes. Pages of zeros are not kept.
type pages[T comparable] struct{ table[int32, *page[T]] }

type page[T comparable] [16]T

func (p *pages[T]) at(index int32) (value T) {
	if at := p.get(index >> 4); at != nil {
		value = at[index&15]
	}
	return value
}

func (p *pages[T]) set(index int32, value T) {
	at := p.get(index >> 4)
	if at == nil {
		at = &page[T]{}
		p.put(index>>4, at)
	}
	var zero T
	at[index&15] = value
	if value == zero && *at == (page[T]{}) {
		p.remove(index >> 4)
	}
}

// values yields the values other than zero with their indexes, in no particular order.
func (p *pages[T]) values() iter.Seq2[int32, T] {
	return func(yield func(int32, T) bool) {
		var zero T
		for n, at := range p.all() {
			for i, value := range at {
				if value != zero && !yield(n<<4|int32(i), value) {
					return
				}
			}
		}
	}
}
