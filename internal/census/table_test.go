package census

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Up to eight entries need no map, and a key has one value.
func TestTable(t *testing.T) {
	for n := range 12 {
		for _, expected := range []int{0, n} {
			entries := newTable[int, int](expected)
			for key := range n {
				entries.put(key, 0)
				entries.put(key, key*key)
			}
			if entries.len() != n || (entries.many != nil) != (n > few) || entries.many != nil && entries.list != nil {
				t.Errorf("%d entries, %d expected: got %+v", n, expected, entries)
			}
			seen := 0
			for key, value := range entries.all() {
				Same(t, "value", value, key*key)
				Same(t, "value by its key", entries.get(key), value)
				seen++
			}
			Same(t, "entries", seen, n)
		}
	}
}

// A loop may end early, and an item that is put twice is there once.
func TestSequences(t *testing.T) {
	entries, set := newTable[int, int](0), newOrdered(func(a, b int) int { return a - b }, nil)
	var p pages[int32]
	for i := range 2 * few {
		entries.put(i, i)
		p.set(int32(i), 1)
		set.insert(i)
		set.insert(i)
		for range entries.all() {
			break
		}
		for range p.values() {
			break
		}
		for range set.all() {
			break
		}
		Same(t, "items", set.len(), i+1)
	}
	c, _ := censusOf(t, NewJob(), classify.Options{}, somePods(4)...)
	for range c.All() {
		break
	}
}

// An index keeps its value when the last one of another page goes.
func TestPages(t *testing.T) {
	var p pages[int32]
	for index := int32(1); index < 1<<12; index *= 2 {
		p.set(index, 1)
	}
	for index := int32(1); index < 1<<12; index *= 2 {
		p.set(index, 0)
		for other := int32(1); other < 1<<12; other *= 2 {
			Same(t, fmt.Sprintf("after the removal of index %d: is index %d there?", index, other), p.at(other) == 1, other > index)
		}
	}
	Same(t, "pages", p.len(), 0)
}

// A Job may have 10^5 pods, with a Record each.
func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size > 48 {
		t.Errorf("a Record takes %d bytes, want at most 48", size)
	}
}
