package tracking

// lender lends room for lists that last as long as a census, so that the next
// census can have it. A nil lender makes lists like any others.
type lender[T any] struct {
	room   []T
	used   int
	lacked int // what did not fit since the last reset
}

// reset takes all room back. What was lacking is there from now on.
func (l *lender[T]) reset() {
	if l.lacked > 0 {
		l.room = make([]T, l.used+l.lacked)
	}
	l.used, l.lacked = 0, 0
}

// take returns a list of n zeros.
func (l *lender[T]) take(n int) []T {
	if l == nil {
		return make([]T, n)
	}
	if n > len(l.room)-l.used {
		l.lacked += n
		return make([]T, n)
	}
	list := l.room[l.used : l.used+n : l.used+n]
	l.used += n
	clear(list)
	return list
}
