package indexset

import (
	"iter"
	"slices"
)

// Union returns the indexes that are in s, in o or in both.
func (s Set) Union(o Set) Set {
	switch {
	case covers(s.ivs, o.ivs):
		return s
	case covers(o.ivs, s.ivs):
		return o
	case len(s.ivs) < len(o.ivs):
		return newSet(union(s.ivs, o.ivs))
	}
	return newSet(union(o.ivs, s.ivs))
}

// Intersection returns the indexes that are in both s and o.
func (s Set) Intersection(o Set) Set {
	switch s.IntersectionLen(o) {
	case s.Len():
		return s
	case o.Len():
		return o
	}
	n := 0
	for range common(s.ivs, o.ivs) {
		n++
	}
	return newSet(slices.AppendSeq(make([]Interval, 0, n), common(s.ivs, o.ivs)))
}

// IntersectionLen returns the number of indexes that are in both s and o.
func (s Set) IntersectionLen(o Set) int {
	switch {
	case covers(s.ivs, o.ivs):
		return o.Len()
	case covers(o.ivs, s.ivs):
		return s.Len()
	}
	var n int64
	for iv := range common(s.ivs, o.ivs) {
		n += iv.len()
	}
	return int(n)
}

// overlaps reports whether some index is in both s and o.
func (s Set) overlaps(o Set) bool {
	for range common(s.ivs, o.ivs) {
		return true
	}
	return false
}

// Difference returns the indexes of s that are not in o.
func (s Set) Difference(o Set) Set {
	if !s.overlaps(o) {
		return s
	}
	return newSet(difference(s.ivs, o.ivs))
}

// covers reports whether every index of b is in a.
func covers(a, b []Interval) bool {
	at := 0
	for _, iv := range b {
		at = seek(a, at, iv.First)
		if at == len(a) || iv.First < a[at].First || a[at].Last < iv.Last {
			return false
		}
	}
	return true
}

// union returns the indexes of few and many. A run of intervals of many that few does not
// touch is copied as a whole, so that adding a few intervals to many is fast.
func union(few, many []Interval) []Interval {
	b := Builder{ivs: make([]Interval, 0, len(few)+len(many))}
	for _, iv := range few {
		apart := seek(many, 0, iv.First-1) // these end before iv and do not touch it
		b.ivs, many = append(b.ivs, many[:apart]...), many[apart:]
		for len(many) > 0 && many[0].First <= iv.Last+1 {
			iv = Interval{min(iv.First, many[0].First), max(iv.Last, many[0].Last)}
			many = many[1:]
		}
		b.AddRange(iv.First, iv.Last)
	}
	return append(b.ivs, many...)
}

// common yields the intervals of the indexes that are in both a and b. They are canonical:
// if two were adjacent, they would be one interval in a and in b.
func common(a, b []Interval) iter.Seq[Interval] {
	return func(yield func(Interval) bool) {
		i, j := 0, 0
		for i < len(a) && j < len(b) {
			both := Interval{max(a[i].First, b[j].First), min(a[i].Last, b[j].Last)}
			if both.First <= both.Last && !yield(both) {
				return
			}
			if a[i].Last < b[j].Last {
				i = seek(a, i+1, b[j].First)
			} else {
				j = seek(b, j+1, a[i].First)
			}
		}
	}
}

// difference returns the indexes of a that are not in b. Like union it copies a run of
// intervals that b does not touch as a whole.
func difference(a, b []Interval) []Interval {
	b = within(b, Interval{a[0].First, a[len(a)-1].Last})
	out := make([]Interval, 0, len(a)+len(b))
	for len(a) > 0 {
		b = b[seek(b, 0, a[0].First):]
		if len(b) == 0 {
			return append(out, a...)
		}
		if apart := seek(a, 0, b[0].First); apart > 0 { // these end before b[0]
			out, a = append(out, a[:apart]...), a[apart:]
			continue
		}
		out, a = cut(out, a[0], b), a[1:]
	}
	return out
}

// cut appends iv without the indexes of b. No interval of b may end before iv starts.
func cut(out []Interval, iv Interval, b []Interval) []Interval {
	for _, gone := range b {
		if iv.Last < gone.First {
			return append(out, iv)
		}
		if iv.First < gone.First {
			out = append(out, Interval{iv.First, gone.First - 1})
		}
		iv.First = gone.Last + 1
		if iv.Last < iv.First {
			return out
		}
	}
	return append(out, iv)
}

// within returns the intervals that have an index in bounds.
func within(ivs []Interval, bounds Interval) []Interval {
	from := search(ivs, bounds.First)
	to := seek(ivs, from, bounds.Last)
	if to < len(ivs) && ivs[to].First <= bounds.Last {
		to++
	}
	return ivs[from:to]
}
