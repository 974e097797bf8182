package explain

import (
	"fmt"
	"math"
	"strings"

	"github.com/jobfate/jobfate/jobstatus"
)

// Whether a Job can still succeed.
const (
	// ProspectSuccess: the Job has succeeded, or it is decided that it will.
	ProspectSuccess Code = "Success"
	// ProspectPossible: the Job can succeed.
	ProspectPossible Code = "Possible"
	// ProspectOutOfReach: nothing is decided yet, but the Job can only fail.
	ProspectOutOfReach Code = "OutOfReach"
	// ProspectFailure: the Job has failed, or it is decided that it will.
	ProspectFailure Code = "Failure"
)

// Prospect says whether the Job can still succeed, and what is needed for that. Until is
// the deadline of the Job, if it has one.
func (e Explanation) Prospect() Reason {
	o := e.about
	if o.Outcome == nil {
		return Reason{}
	}
	phase, end := jobstatus.OutcomeOf(o.View.Job).Phase, o.Ending()
	switch {
	case phase == jobstatus.Complete:
		return Reason{Code: ProspectSuccess, Text: "yes, the Job has succeeded"}
	case phase == jobstatus.Failed:
		return Reason{Code: ProspectFailure, Text: "no, the Job has failed"}
	case end.Succeeds() || !end.Ended() && phase == jobstatus.Succeeding:
		return Reason{Code: ProspectSuccess, Text: "yes, it is decided that the Job succeeds"}
	case end.Ended() || phase == jobstatus.Failing:
		return Reason{Code: ProspectFailure, Text: "no, it is decided that the Job fails"}
	case !o.View.Totals.Results.Failed.IsEmpty() && o.ruleLeft() < 0:
		return Reason{Code: ProspectOutOfReach, Text: "no: " + o.haveFailed() + "; the Job fails when no other index is left to run"}
	case o.View.Job.DeletionTimestamp != nil && o.need() > o.View.Census.Active:
		return Reason{Code: ProspectOutOfReach, Text: fmt.Sprintf("no: the Job is being deleted, and %s cannot reach the %d successes that are still needed",
			count(o.View.Census.Active, "pod"), o.need())}
	}
	r := Reason{Code: ProspectPossible, Text: "yes: " + strings.Join(append([]string{o.toGo()}, o.conditions()...), "; ")}
	if r.Until = o.FailsAt(); !r.Until.IsZero() {
		r.Text += "; before the deadline at " + o.clock(r.Until)
	}
	return r
}

// ruleLeft returns the first rule of the success policy that the indexes that have not
// failed can satisfy; -1 if there is none. A failed index keeps the Job from being complete
// (KEP-3850), but its success policy can still be met.
func (o outcome) ruleLeft() int {
	return o.View.Spec.SuccessPolicy.Match(o.View.Totals.Results.Failed.Complement(*o.View.Spec.Completions))
}

func (o outcome) haveFailed() string {
	first, _ := o.View.Totals.Results.Failed.Min()
	if n := o.View.Totals.Results.Failed.Len(); n > 1 {
		return fmt.Sprintf("%d indexes have failed, the first is %d", n, first)
	}
	return fmt.Sprintf("index %d has failed", first)
}

// need is the number of successes that are still needed. A Job without completions needs
// one.
func (o outcome) need() int32 {
	completions := int32(1)
	if o.View.Spec.Completions != nil {
		completions = *o.View.Spec.Completions
	}
	return max(0, completions-o.View.Totals.Succeeded)
}

// toGo says what the Job still needs to succeed.
func (o outcome) toGo() string {
	need := o.need()
	switch {
	case o.View.Spec.Completions == nil && need > 0:
		return "one pod must succeed, and all must finish"
	case o.View.Spec.Completions == nil:
		return "a pod has succeeded, the others must finish"
	case !o.View.Totals.Results.Failed.IsEmpty():
		return fmt.Sprintf("%s, but rule %d of the success policy can still be met", o.haveFailed(), o.ruleLeft())
	case o.View.Spec.Indexed && o.View.Spec.SuccessPolicy != nil:
		return fmt.Sprintf("%d of %d indexes to go, or fewer by the success policy", need, *o.View.Spec.Completions)
	case o.View.Spec.Indexed:
		return fmt.Sprintf("%d of %d indexes to go", need, *o.View.Spec.Completions)
	}
	return fmt.Sprintf("%d of %s to go", need, count(*o.View.Spec.Completions, "pod"))
}

// conditions says on what conditions the Job succeeds.
func (o outcome) conditions() []string {
	var out []string
	switch {
	case o.View.Job.DeletionTimestamp != nil:
		out = append(out, "only with the pods it has, because it is being deleted")
	case o.View.Spec.Suspended:
		out = append(out, "once it is resumed")
	case o.View.Spec.Parallelism == 0:
		out = append(out, "once its parallelism is above 0")
	}
	if o.View.Spec.PerIndex() {
		out = append(out, "at most "+count(o.View.Spec.Limit.PerIndex, "failure")+" per index")
	}
	switch limit := o.View.Spec.Limit.PerJob; {
	case limit < math.MaxInt32:
		text := fmt.Sprintf("at most %s, %d so far", count(limit, "failure"), o.View.Totals.Failed)
		if o.View.Spec.CountRestarts {
			text += fmt.Sprintf(", or as many container restarts, %d so far", o.View.Census.Restarts)
		}
		out = append(out, text)
	case !o.View.Spec.PerIndex():
		out = append(out, fmt.Sprintf("no limit on failures, %d so far", o.View.Totals.Failed))
	}
	return out
}

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
	f, active := newFacts(e), int(o.View.Census.Active)
	t := Totals{Done: int(o.View.Totals.Succeeded), Failed: int(o.View.Totals.Failed),
		Terminating: int(o.View.Census.Terminating), BackingOff: o.backingOff(), Pending: len(o.Plan.Work.Create)}
	for _, s := range f.examine() {
		if s.attention == AttentionStuck {
			t.Stuck++
		}
	}
	t.Running = active - t.Stuck
	if o.View.Spec.Completions != nil {
		t.Pending = max(0, int(*o.View.Spec.Completions)-t.Done-active-t.BackingOff)
	}
	if !f.goesOn() {
		t.Pending, t.Stopped = 0, t.Pending
	}
	return t
}

// backingOff is the number of missing pods that wait for the backoff of the Job.
func (o outcome) backingOff() int {
	if o.View.Spec.PerIndex() || o.Plan.Work.Wait == 0 {
		return 0
	}
	missing := o.Plan.Work.Want - o.View.Census.Active
	if o.View.Spec.ReplaceFailedOnly {
		missing -= o.View.Census.Terminating
	}
	return int(missing)
}

func (e Explanation) totalsOfIndexes() Totals {
	n := map[Code]int{}
	for _, s := range e.unfinished() {
		n[s.Code] += s.Indexes.Len()
	}
	waiting := min(e.about.backingOff(), n[IndexPending])
	return Totals{
		Done:        e.about.View.Totals.Results.Completed.Len(),
		Running:     n[IndexActive],
		Stuck:       n[IndexStuck],
		Terminating: n[IndexRemoving] + n[IndexTerminating],
		BackingOff:  n[IndexBackingOff] + waiting,
		Pending:     n[IndexCreating] + n[IndexPending] - waiting,
		Failed:      n[IndexFailed],
		Stopped:     n[IndexStopped],
	}
}
