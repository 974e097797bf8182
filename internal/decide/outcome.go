package decide

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// Outcome is what follows from a plan, given what became of its creations and
// deletions.
type Outcome struct {
	View *View
	// Plan is zero for a Job that has ended, and for one that is older than the
	// status that was stored last.
	Plan Plan
	// End is how the Job ends once the plan is carried out. As long as it may have pods
	// that are not counted it does not end.
	End     lifecycle.End
	Account census.Account
	// Status is what to store before any finalizer goes.
	Status batchv1.JobStatus
	// After are the numbers of pods once the plan is carried out.
	After Counts
	// Changed says that Status differs from what is stored, PutOff that the throttle
	// puts it off.
	Changed, PutOff bool

	// Claims are those to send, Strip the pods whose finalizer may go once the
	// status is stored.
	Claims  []Claim
	Strip   []*corev1.Pod
	Left    Left
	Backoff backoff.Record
	Requeue time.Duration
	Events  []Event
	Metrics []Metric
}

// Done says what became of creations and deletions.
type Done struct {
	NotCreated int // failed or were not tried
	Untried    int
	NotDeleted []types.UID
}

// Counts are numbers of pods.
type Counts struct{ Active, Ready, Terminating int32 }

// Event is what to tell the user.
type Event struct{ Type, Reason, Message string }

// Decide returns the outcome of a plan of which everything succeeds.
func Decide(in Input, c Config) (*Outcome, error) {
	var t Tally
	t.List(in.Pods)
	return t.Decide(in, &c)
}

// Planned reports whether there is a plan, so that what became of it matters.
func (o *Outcome) Planned() bool { return o.Plan.Work.Action != "" }

// Close returns the outcome of the same plan when it went as told.
func (o *Outcome) Close(done Done) *Outcome {
	if !o.Planned() {
		return o
	}
	return o.View.close(o.Plan, done)
}

// afterTheEnd is for a Job that has ended: its status is never touched again, and
// whatever finalizer is left goes.
func (v *View) afterTheEnd() *Outcome {
	o := &Outcome{View: v, After: v.counts(), Backoff: v.Backoff}
	for _, claim := range v.Claims {
		if claim.Relation != tracking.Adoptable {
			o.Claims = append(o.Claims, claim)
		}
	}
	for _, r := range v.Census.TrackedInOrder() {
		o.Strip = append(o.Strip, r.Pod)
	}
	if n := v.Config.RemovalsCap; n > 0 && len(o.Strip) > n {
		o.Left.Strip, o.Requeue = len(o.Strip)-n, v.Config.BatchPeriod
		o.Strip = o.Strip[:n]
	}
	return o
}

// waitForJob is for a Job that is older than a status that was stored: to wait.
func (v *View) waitForJob() *Outcome {
	return &Outcome{View: v, After: v.counts(), Backoff: v.Backoff, Requeue: v.Config.BatchPeriod}
}

func (v *View) counts() Counts {
	return Counts{v.Census.Active, v.Census.Ready, v.Census.Terminating}
}

func (v *View) close(p Plan, done Done) *Outcome {
	after := v.after(&p, done)
	end := v.endAfter(&p, after, len(done.NotDeleted) > 0)
	inputs := v.accountInputs(&p, end)
	account := v.Census.Account(inputs)
	status, suspension := v.statusAfter(&p, after, end, &account)
	o := &Outcome{
		View:    v,
		Plan:    p,
		After:   after,
		End:     end,
		Account: account,
		Status:  status,
		Changed: !jobstatus.Equal(&status, &v.Job.Status),
		Claims:  v.Claims,
	}
	o.Left = p.Work.Left
	o.Left.Strip = account.Left
	rest := o.rest()
	var m metrics
	if p.Work.Action == ActionCreated && len(p.Work.Create) > 0 {
		m.created(v, int(after.Active-v.Census.Active), max(0, done.NotCreated-max(done.Untried, 0)))
	}
	wait := v.putOff(suspension, end, account.Recorded)
	if wait > 0 && (o.Changed || len(account.Strip) > 0) {
		o.PutOff, o.Backoff, o.Metrics = true, v.Backoff, m
		o.Requeue = least(p.Work.Wait, p.Deadline, wait, rest)
		return o
	}
	if o.Changed {
		m.podsFinished(v, &v.Job.Status, &status, v.setsBefore(), v.setsAfter())
	}
	m.handled(account.Handled)
	o.Strip, o.Backoff, o.Requeue = account.Strip, p.Record, least(p.Work.Wait, p.Deadline, rest)
	if inputs.KeepFailsJob {
		o.Backoff = v.record(true)
	}
	o.Metrics, o.Events = m, suspensionEvents(suspension)
	return o
}

// rest is when to look again at what the caps have left: at pods, or at the end of a
// Job of which they have left no pod. The writes of this look bring back a caller that
// observes them; with the timer the rest does not depend on that.
func (o *Outcome) rest() time.Duration {
	ends := o.End.Ended() && o.Account.Full && o.After.Active == 0 && o.After.Terminating == 0
	if !ends && o.Left == (Left{}) {
		return 0
	}
	return o.View.Config.BatchPeriod
}

// after are the numbers of pods once the plan is carried out.
func (v *View) after(p *Plan, done Done) Counts {
	c := v.counts()
	c.Active += int32(len(p.Work.Create) - min(max(done.NotCreated, 0), len(p.Work.Create)))
	kept := make(map[types.UID]struct{}, len(done.NotDeleted))
	for _, uid := range done.NotDeleted {
		kept[uid] = struct{}{}
	}
	for _, d := range p.Work.Delete {
		if _, ok := kept[d.Record.Pod.UID]; ok {
			continue
		}
		c.Active--
		c.Terminating++
		if d.Record.Ready {
			c.Ready--
		}
	}
	return c
}

// endAfter is how the Job ends once the plan is carried out. As long as a pod is left
// that should be gone, or a write is unobserved, it does not: there may be pods that
// are not counted.
func (v *View) endAfter(p *Plan, after Counts, undeleted bool) lifecycle.End {
	if p.End.Ended() {
		if undeleted || !p.Settled {
			return lifecycle.End{}
		}
		return p.End
	}
	facts := v.Facts(p.PastDeadline)
	facts.Settled, facts.Active = p.Settled, after.Active
	return lifecycle.Decide(&facts)
}

func (v *View) accountInputs(p *Plan, end lifecycle.End) census.AccountInputs {
	in := census.AccountInputs{
		Deleting: v.Job.DeletionTimestamp != nil,
		Counted:  v.Totals.Results.Counted,
		Cap:      v.Config.UncountedCap,
		Removals: v.Config.RemovalsCap,
	}
	// The end is known and not stored by this outcome: what shows it must stay.
	in.KeepFailsJob = !in.Deleting && p.End.Ended() && !p.End.Decided && !end.Ended()
	switch {
	case end.Succeeds():
		in.Ending = census.Succeeding
	case end.Ended():
		in.Ending = census.Failing
	}
	return in
}

// putOff returns how long the throttle puts the status off. What a user waits for is
// not put off: suspension, the end, the first status.
func (v *View) putOff(suspension lifecycle.Change, end lifecycle.End, recorded int) time.Duration {
	if suspension != lifecycle.Unchanged || end.Ended() || v.Job.Status.StartTime == nil {
		return 0
	}
	return throttled(v.Config.Throttle, v.LastStatus, v.Now, recorded, v.Spec.Parallelism)
}

func (v *View) setsBefore() indexSets {
	return indexSets{v.Totals.Results.Counted, v.Status.Failed.Set}
}
func (v *View) setsAfter() indexSets {
	return indexSets{v.Totals.Results.Completed, v.Totals.Results.Failed}
}

func suspensionEvents(change lifecycle.Change) []Event {
	switch change {
	case lifecycle.Suspended:
		return []Event{{corev1.EventTypeNormal, "Suspended", "Job suspended"}}
	case lifecycle.Resumed:
		return []Event{{corev1.EventTypeNormal, "Resumed", "Job resumed"}}
	}
	return nil
}

// sum adds without leaving the range of an int32.
func sum(a, b int32) int32 {
	return int32(min(int64(a)+int64(b), math.MaxInt32))
}

// least returns the least of some waits, where 0 is no wait.
func least(waits ...time.Duration) (least time.Duration) {
	for _, wait := range waits {
		if wait != 0 && (least == 0 || wait < least) {
			least = wait
		}
	}
	return least
}
