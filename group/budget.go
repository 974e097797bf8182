package group

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// window returns the window of a budget; zero for none.
func (b *Budget) window() time.Duration {
	if b.Window == nil {
		return 0
	}
	return b.Window.Duration
}

// available returns the first time from at on at which a unit of the budget is left, given what has
// been charged. It is not possible if there is no such time, or if the step must not wait for it.
//
// A window counts all charges after its start, also those later than at: failures may arrive out of
// order.
func (b *Budget) available(used Use, at time.Time) (from time.Time, possible bool) {
	if b.window() <= 0 {
		return at, used.Count < b.Max
	}
	times := ordered(used.Times)
	if len(times) < int(b.Max) {
		return at, true
	}
	free := times[len(times)-int(b.Max)].Add(b.window())
	if !free.After(at) {
		return at, true
	}
	return free, b.Wait
}

// charge returns what has been charged after one more charge.
func (b *Budget) charge(used Use, at time.Time) Use {
	if b.window() <= 0 {
		return Use{Count: max(used.Count, 0) + 1} // below Max, see available
	}
	times := ordered(append(slices.Clip(used.Times), metav1.Time{Time: at}))
	return Use{Times: times[max(len(times)-int(b.Max), 0):]}
}

// ordered returns times in increasing order.
func ordered(times []metav1.Time) []metav1.Time {
	return slices.SortedFunc(slices.Values(times), func(a, b metav1.Time) int { return a.Compare(b.Time) })
}

// earliest and latest are the first and the last time that a State can hold: the zero time has no
// text in an object of the API, and RFC 3339 ends with the year 9999.
var (
	earliest = time.Time{}.Add(time.Second)
	latest   = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
)

// stored returns a time as a State holds it: in UTC, in whole seconds, rounded up.
func stored(t time.Time) time.Time {
	up := t.UTC().Truncate(time.Second)
	if up.Before(t) {
		up = up.Add(time.Second)
	}
	switch {
	case up.Before(earliest):
		return earliest
	case up.After(latest):
		return latest
	}
	return up
}
