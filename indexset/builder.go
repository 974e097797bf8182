package indexset

import (
	"cmp"
	"slices"
)

// Builder collects indexes in any order and builds a Set. The zero Builder is empty and
// ready for use. Do not copy a Builder after its first use.
type Builder struct {
	built Set        // what Set has returned
	ivs   []Interval // added since then; canonical if they are in order
}

// Add adds an index. One outside [0, Max] is ignored.
func (b *Builder) Add(i int32) { b.AddRange(i, i) }

// AddRange adds the indexes from first to last, both included. Indexes outside [0, Max]
// are ignored. If last is before first, it adds none.
func (b *Builder) AddRange(first, last int32) {
	first, last = max(first, 0), min(last, Max)
	if first > last {
		return
	}
	if n := len(b.ivs); n > 0 {
		if latest := &b.ivs[n-1]; latest.First <= first && first <= latest.Last+1 {
			latest.Last = max(latest.Last, last)
			return
		}
	}
	b.ivs = append(b.ivs, Interval{first, last})
}

// Set returns the set of the indexes added so far. You can add more later; that does not
// change the returned set.
func (b *Builder) Set() Set {
	byFirst := func(x, y Interval) int { return cmp.Compare(x.First, y.First) }
	if !slices.IsSortedFunc(b.ivs, byFirst) {
		slices.SortFunc(b.ivs, byFirst)
		sorted := Builder{ivs: b.ivs[:0]}
		for _, iv := range b.ivs { // AddRange overwrites only intervals that were read already
			sorted.AddRange(iv.First, iv.Last)
		}
		b.ivs = sorted.ivs
	}
	*b = Builder{built: b.built.Union(newSet(b.ivs, sum(b.ivs)))}
	return b.built
}
