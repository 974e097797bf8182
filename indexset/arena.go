package indexset

// Arena lends room to sets that are needed for a short time only, for a caller
// that makes many. The zero Arena is ready for use; a nil one makes sets like
// any others. An Arena is not safe for concurrent use.
//
// What its methods return is a Set in every respect, until Reset. From then on
// it must not be used.
type Arena struct {
	room   []Interval // its length is all there is
	used   int
	first  int // where the list that was taken last begins; -1: not in the room
	lacked int // what did not fit since the last Reset
}

// Reset takes the room of all sets back. What was lacking is there from now on,
// so that a caller who does the same again does not allocate.
func (a *Arena) Reset() {
	if a.lacked > 0 {
		a.room = make([]Interval, a.used+a.lacked)
	}
	a.used, a.lacked = 0, 0
}

// Below returns the indexes of [0, n).
func (a *Arena) Below(n int32) Set {
	if n <= 0 {
		return Set{}
	}
	return a.keep(append(a.take(1), Interval{First: 0, Last: n - 1}))
}

// Union is Set.Union.
func (a *Arena) Union(s, o Set) Set {
	switch {
	case covers(s.ivs, o.ivs):
		return s
	case covers(o.ivs, s.ivs):
		return o
	}
	return a.keep(union(a.take(len(s.ivs)+len(o.ivs)), s.ivs, o.ivs))
}

// ParseDamaged is the function of that name. Only canonical text is read
// without allocating.
func (a *Arena) ParseDamaged(s string, completions int32) (Set, Damage) {
	set, fault := a.parse(s)
	if fault == nil && set.isBelow(completions) {
		return set, Damage{}
	}
	return parseDamaged(s, completions, fault)
}

// take returns an empty list with room for n intervals. It goes to keep before
// the next is taken.
func (a *Arena) take(n int) []Interval {
	if a == nil {
		return make([]Interval, 0, n)
	}
	if n > len(a.room)-a.used {
		a.first = -1
		a.lacked += n
		return make([]Interval, 0, n)
	}
	a.first, a.used = a.used, a.used+n
	return a.room[a.first:a.first:a.used]
}

// keep makes a Set of canonical intervals, at least one, in the list that was
// taken last, and has the rest of its room back.
func (a *Arena) keep(ivs []Interval) Set {
	if a == nil || a.first < 0 {
		return newSet(ivs)
	}
	a.used = a.first + len(ivs)
	return Set{ivs}
}
