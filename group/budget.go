package group

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// available returns the first time from at on at which a unit of the budget is free, given what has
// been charged. It is not possible if there is no such time, or if the step must not wait for it.
//
// A window counts all charges after its start, also those later than at: failures may arrive out of
// order.
func (b *Budget) available(used Use, at time.Time) (from time.Time, possible bool) {
	if b.Window <= 0 {
		return at, used.Count < b.Max
	}
	times := ordered(used.Times)
	if len(times) < int(b.Max) {
		return at, true
	}
	free := times[len(times)-int(b.Max)].Add(b.Window)
	if !free.After(at) {
		return at, true
	}
	return free, b.Wait
}

// charge returns what has been charged after one more charge, for a choice at this progress.
func (b *Budget) charge(used Use, c *choice, progress int64) (out Use) {
	if b.Window <= 0 {
		out.Count = max(used.Count, 0) + 1 // at most Max, see available
	} else {
		times := ordered(append(slices.Clip(used.Times), metav1.Time{Time: c.from}))
		out.Times = times[max(len(times)-int(b.Max), 0):]
	}
	if b.Renew.Quiet > 0 {
		since := metav1.Time{Time: c.from}
		if c.notBefore.After(c.from) {
			since.Time = c.notBefore
		}
		if used.QuietSince != nil && used.QuietSince.After(since.Time) { // the clock was set back
			since = *used.QuietSince
		}
		out.QuietSince = &since
	}
	if b.Renew.Progress > 0 {
		out.Progress = max(used.Progress, 0)
		if used.none() || out.Progress == 0 {
			out.Progress = max(out.Progress, progress)
		}
	}
	return out
}

// Renewed says that a budget was full again, and why.
type Renewed struct {
	Budget string
	// Quiet is the quiet time, and Progress the growth of the progress; 0 if this did not renew the budget.
	Quiet    time.Duration
	Progress int64
}

// String says it for an event.
func (r Renewed) String() string {
	text := "budget " + r.Budget + " renewed"
	if r.Quiet > 0 {
		text += fmt.Sprintf(" after %v of quiet", r.Quiet)
	}
	if r.Progress > 0 {
		text += fmt.Sprintf(" by a progress of %d", r.Progress)
	}
	return text
}

// renewal returns why the budget is full again when a failure charges it; the zero value if it is not, or was not
// charged before. The time of the failure is zero if it is not known.
func (b *Budget) renewal(used Use, f *Failure) (r Renewed) {
	if used.none() {
		return r
	}
	if b.Renew.Quiet > 0 && used.QuietSince != nil && !f.At.IsZero() {
		if quiet := f.At.Sub(used.QuietSince.Time); quiet >= b.Renew.Quiet {
			r = Renewed{Budget: b.Name, Quiet: quiet}
		}
	}
	if b.Renew.Progress > 0 && used.Progress > 0 && f.Progress > used.Progress {
		if grown := f.Progress - used.Progress; grown >= b.Renew.Progress {
			r.Budget, r.Progress = b.Name, grown
		}
	}
	return r
}

// renewed returns what has been charged to the budget, if a failure that charges it may renew it.
func (b *Budget) renewed(used Use, f *Failure) Use {
	if b.renewal(used, f) == (Renewed{}) {
		return used
	}
	return used.emptied()
}

// none reports whether nothing is charged.
func (u *Use) none() bool { return u.Count <= 0 && len(u.Times) == 0 }

// emptied returns the use without charges.
func (u Use) emptied() Use { return Use{QuietSince: u.QuietSince, Progress: u.Progress} }

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
