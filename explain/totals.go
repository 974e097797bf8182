package explain

import "fmt"

// Totals are the numbers of indexes of an Indexed Job by their state, each index counted
// once. For another Job they count pods, including pods that it still needs.
type Totals struct {
	// Done: succeeded.
	Done int
	// Running: active and not stuck.
	Running int
	// Stuck: active, but unable to start or finish.
	Stuck int
	// Terminating: being deleted, and replaced only after termination or not at all.
	Terminating int
	// BackingOff: without a pod until a delay ends.
	BackingOff int
	// Pending: without a pod, which is created now or when a slot is free.
	Pending int
	// Failed: failed indexes, or failed pods.
	Failed int
	// Stopped: neither done nor failed, and without a pod because the Job ends or has ended.
	Stopped int
}

// String returns the totals as a line, without those that are 0: "done 3400 · running 1900
// · stuck 78 · backing off 13 · failed 2".
func (t Totals) String() string {
	text := fmt.Sprintf("done %d", t.Done)
	for _, part := range [...]struct {
		name string
		n    int
	}{
		{"running", t.Running}, {"stuck", t.Stuck}, {"terminating", t.Terminating}, {"backing off", t.BackingOff},
		{"pending", t.Pending}, {"failed", t.Failed}, {"stopped", t.Stopped},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(" · %s %d", part.name, part.n)
		}
	}
	return text
}

// Totals returns the totals before the decision is carried out.
func (e Explanation) Totals() Totals {
	o := e.about
	switch {
	case o.Outcome == nil:
		return Totals{}
	case o.View.Spec.Indexed:
		return e.totalsOfIndexes()
	}
	f := newFacts(e)
	t := Totals{Done: int(o.View.Totals.Succeeded), Failed: int(o.View.Totals.Failed), Terminating: int(o.View.Census.Terminating), Stuck: f.totalStuck()}
	t.Running = int(o.View.Census.Active) - t.Stuck
	t.BackingOff = o.backingOff()
	if o.View.Spec.Completions != nil {
		t.Pending = max(0, int(*o.View.Spec.Completions)-t.Done-int(o.View.Census.Active)-t.BackingOff)
	} else if !o.ended() {
		t.Pending = len(o.Plan.Work.Create)
	}
	if o.ended() {
		t.Pending, t.Stopped = 0, t.Pending
	}
	return t
}

// ended reports whether the Job gets no more pods.
func (o outcome) ended() bool { return stops(o.jobReason().Code) }

// backingOff is the number of missing pods that wait for the backoff of the Job.
func (o outcome) backingOff() int {
	work := &o.Plan.Work
	if o.View.Spec.PerIndex || work.Wait == 0 {
		return 0
	}
	missing := work.Want - o.View.Census.Active
	if o.View.Spec.ReplaceFailedOnly {
		missing -= o.View.Census.Terminating
	}
	return max(0, int(missing)-len(work.Create))
}

func (e Explanation) totalsOfIndexes() Totals {
	o := e.about
	t := Totals{Done: o.View.Totals.Results.Completed.Len()}
	for r := range e.Indexes() {
		*t.of(r.Code) += r.Indexes.Len()
	}
	waiting := min(o.backingOff(), t.Pending)
	t.Pending, t.BackingOff = t.Pending-waiting, t.BackingOff+waiting
	return t
}

// of returns the total to which an index belongs.
func (t *Totals) of(code Code) *int {
	switch code {
	case IndexFailed:
		return &t.Failed
	case IndexStuck:
		return &t.Stuck
	case IndexActive:
		return &t.Running
	case IndexRemoving, IndexTerminating:
		return &t.Terminating
	case IndexBackingOff:
		return &t.BackingOff
	case IndexStopped:
		return &t.Stopped
	}
	return &t.Pending
}

// totalStuck is the number of pods that need a user to act.
func (f *facts) totalStuck() (n int) {
	for i := range causes {
		if s := f.stuck[causes[i].code]; s != nil && causes[i].attention == AttentionStuck {
			n += len(s.pods)
		}
	}
	return n
}
