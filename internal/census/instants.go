package census

import (
	"cmp"
	"time"
)

// instant is a time as seconds and nanoseconds of the Unix time.
type instant struct {
	seconds int64
	nanos   int32
}

func instantOf(t time.Time) instant { return instant{t.Unix(), int32(t.Nanosecond())} }

func (i instant) time() time.Time { return time.Unix(i.seconds, int64(i.nanos)).UTC() }

func (i instant) compare(o instant) int {
	return cmp.Or(cmp.Compare(i.seconds, o.seconds), cmp.Compare(i.nanos, o.nanos))
}

// instants are the finish times of pods, with the number of pods for each. The API stores
// whole seconds, and many pods have the same one.
//
// Invariant: every number is above zero.
type instants struct{ *ordered[pods] } // nil if there are none

// pods is the number of pods that finished at one time.
type pods struct {
	at     instant
	number int32
}

// add adds to the number of pods that finished at a time.
func (s *instants) add(at instant, by int32) {
	if s.ordered == nil {
		s.ordered = newOrdered(func(a, b pods) int { return a.at.compare(b.at) }, nil)
	}
	switch p := s.get(pods{at: at}); {
	case p == nil:
		s.insert(pods{at, by})
	case p.number+by == 0:
		s.remove(pods{at: at})
	default:
		p.number += by
	}
}

// latest returns the last finish time, if there is one.
func (s *instants) latest() (at instant, ok bool) {
	for p := range s.backward() {
		return p.at, true
	}
	return instant{}, false
}

// after returns the number of pods that finished after a time.
func (s *instants) after(at instant) (n int32) {
	for p := range s.backward() {
		if p.at.compare(at) <= 0 {
			break
		}
		n = add(n, p.number)
	}
	return n
}
