package indexset

import "iter"

// Union returns the indexes that are in s, in o or in both.
func (s Set) Union(o Set) Set {
	switch {
	case covers(s.ivs, o.ivs):
		return s
	case covers(o.ivs, s.ivs):
		return o
	}
	return newSet(union(make([]Interval, 0, len(s.ivs)+len(o.ivs)), s.ivs, o.ivs))
}

// Intersection returns the indexes that are in both s and o.
func (s Set) Intersection(o Set) Set {
	switch {
	case covers(o.ivs, s.ivs):
		return s
	case covers(s.ivs, o.ivs):
		return o
	}
	n := 0
	for range common(s.ivs, o.ivs) {
		n++
	}
	ivs := make([]Interval, 0, n)
	for iv := range common(s.ivs, o.ivs) {
		ivs = append(ivs, iv)
	}
	return newSet(ivs)
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

// union appends the indexes of a and b to out, which is empty. A run of intervals that the
// other list does not touch is copied as a whole, so that adding a few intervals to many is
// fast.
func union(out, a, b []Interval) []Interval {
	for len(a) > 0 && len(b) > 0 {
		if b[0].First < a[0].First {
			a, b = b, a
		}
		if apart := seek(a, 0, b[0].First-1); apart > 0 { // these end before b[0] and do not touch it
			out, a = append(out, a[:apart]...), a[apart:]
			continue
		}
		fused := a[0] // touches b[0]
		a = a[1:]
		// An interval that has absorbed one of a list does not touch the next of that
		// list, so the two lists take turns.
		for more := true; more; a, b = b, a {
			b, more = absorb(&fused, b)
		}
		out = append(out, fused)
	}
	out = append(out, a...)
	return append(out, b...)
}

// absorb removes the intervals at the head of rest that lie within iv. If the next one
// touches iv, it extends iv by that one and removes it too. It reports whether iv grew.
func absorb(iv *Interval, rest []Interval) ([]Interval, bool) {
	rest = rest[seek(rest, 0, iv.Last+1):]
	if len(rest) == 0 || iv.Last+1 < rest[0].First {
		return rest, false
	}
	iv.Last = rest[0].Last
	return rest[1:], true
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
