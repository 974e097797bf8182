package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// Outcome is the result of a plan, given which of its creations and deletions succeeded.
type Outcome struct {
	View *View
	// Plan is zero for a Job that has ended, and while the last status write is not
	// observed.
	Plan Plan
	// End is how the Job ends once the plan is carried out. It is zero while pods may
	// exist that are not counted.
	End     lifecycle.End
	Account tracking.Account
	// Status is the status to store before any finalizer is removed.
	Status batchv1.JobStatus
	// After are the numbers of pods once the plan is carried out.
	After Counts
	// Changed says that Status differs from the status of the Job. PutOff says that the
	// throttle delays the status write.
	Changed, PutOff bool

	// Claims lists the claims to send, Strip the pods whose finalizer may be removed once
	// the status is stored.
	Claims   []*census.Record
	Strip    []*corev1.Pod
	Deferred Deferred
	Backoff  backoff.Record
	Requeue  time.Duration
	Events   []Event
	Metrics  []Metric
}

// Done lists the creations and deletions of a plan that were not carried out.
type Done struct {
	NotCreated int // failed or were not tried, Untried included
	Untried    int
	NotDeleted []types.UID
}

// Counts are numbers of pods.
type Counts struct{ Active, Ready, Terminating int32 }

// Event is an event to record on the Job.
type Event struct{ Type, Reason, Message string }

// Decide returns the outcome of the plan, assuming that everything in it succeeds.
func Decide(in Input, c Config) (*Outcome, error) {
	var t Tally
	t.List(in.Pods)
	return t.Decide(in, &c)
}

// Planned reports whether the outcome has a plan to carry out.
func (o *Outcome) Planned() bool { return o.Plan.Work.Action != "" }

// Ending returns how the Job ends, even while pods may exist that are not counted.
func (o *Outcome) Ending() lifecycle.End {
	if o.End.Ended() {
		return o.End
	}
	return o.Plan.End
}

// Close returns the outcome of the same plan if it was carried out except for what done
// lists.
func (o *Outcome) Close(done Done) *Outcome {
	if !o.Planned() {
		return o
	}
	return o.View.close(o.Plan, done)
}

// afterTheEnd returns the outcome for a Job that has ended: its status is never written
// again, and the remaining finalizers are removed.
func (v *View) afterTheEnd() *Outcome {
	o := &Outcome{View: v, After: v.counts(), Backoff: v.Backoff, Claims: v.Census.Claims()}
	var strip []*corev1.Pod
	for _, r := range v.Census.TrackedInOrder() {
		strip = append(strip, r.Pod)
	}
	if n := v.Config.RemovalsCap; n > 0 && len(strip) > n {
		o.Deferred.Strip, o.Requeue = len(strip)-n, v.Config.BatchPeriod
		strip = strip[:n]
	}
	o.Strip = strip
	return o
}

// counts returns the numbers of pods before the plan is carried out. They include the known
// writes in flight: stale pods must not contradict the status that counted these writes.
func (v *View) counts() Counts {
	c := Counts{v.Census.Active, v.Census.Ready, v.Census.Terminating}
	for _, pod := range v.InFlight.Pods {
		switch r := v.Census.Of(pod.UID); {
		case r == nil && pod.Deleted:
			c.Terminating++
		case r == nil:
			c.Active++
		case pod.Deleted && r.Active:
			c.delete(r)
		}
	}
	return c
}

// delete counts an active pod as terminating.
func (c *Counts) delete(r *census.Record) {
	c.Active--
	c.Terminating++
	if r.Ready {
		c.Ready--
	}
}

func (v *View) close(p Plan, done Done) *Outcome {
	after := v.after(&p, done)
	end := v.endAfter(&p, after, len(done.NotDeleted) > 0)
	inputs := v.accountInputs(&p, end)
	account := v.Census.Account(inputs)
	status, suspension := v.statusAfter(&p, after, end, &account)
	o := &Outcome{
		View:     v,
		Plan:     p,
		After:    after,
		End:      end,
		Account:  account,
		Status:   status,
		Changed:  !lifecycle.Equal(&status, &v.Job.Status),
		Claims:   v.Census.Claims(),
		Deferred: p.Work.Deferred,
		Backoff:  v.Backoff,
	}
	o.Deferred.Strip = account.Deferred
	wait := o.putOff(suspension)
	o.PutOff = wait > 0
	o.Requeue = Soonest(p.Work.Wait, p.Timer(), wait, o.untilRest())
	var m metrics
	if len(p.Work.Create) > 0 {
		m.created(v, int(after.Active-v.Census.Active), max(0, done.NotCreated-max(done.Untried, 0)))
	}
	if !o.PutOff {
		if o.Changed {
			m.indexesFinished(v)
			m.podsFinished(v, &v.Job.Status, &status)
		}
		m.handled(account.Handled)
		o.Strip, o.Backoff, o.Events = account.Strip, p.Record, v.suspensionEvents(suspension)
		if inputs.KeepFailsJob {
			o.Backoff = v.record(true)
		}
	}
	o.Metrics = m
	return o
}

// untilRest returns the time until the next sync when the caps have left work: pods, or
// only the end of a Job whose last pods this sync counts. Observing this sync's writes
// also starts a sync. With the timer, the remaining work does not depend on that.
func (o *Outcome) untilRest() time.Duration {
	ends := o.End.Ended() && o.Account.Full && o.After.Active == 0 && o.After.Terminating == 0
	if !ends && o.Deferred == (Deferred{}) {
		return 0
	}
	return o.View.Config.BatchPeriod
}

// after returns the numbers of pods once the plan is carried out.
func (v *View) after(p *Plan, done Done) Counts {
	c := v.counts()
	c.Active += int32(len(p.Work.Create) - min(max(done.NotCreated, 0), len(p.Work.Create)))
	kept := setOf(done.NotDeleted)
	deleted := map[types.UID]bool{}
	for _, pod := range v.InFlight.Pods {
		if pod.Deleted {
			deleted[pod.UID] = true
		}
	}
	for _, d := range p.Work.Delete {
		if uid := d.Record.Pod.UID; !kept[uid] && !deleted[uid] {
			c.delete(d.Record)
		}
	}
	return c
}

func setOf(uids []types.UID) map[types.UID]bool {
	set := make(map[types.UID]bool, len(uids))
	for _, uid := range uids {
		set[uid] = true
	}
	return set
}

// endAfter returns how the Job ends once the plan is carried out. The Job does not end
// while a deletion is outstanding or a write is unobserved, because pods may exist that
// are not counted.
func (v *View) endAfter(p *Plan, after Counts, undeleted bool) lifecycle.End {
	if p.End.Ended() && (undeleted || !p.Settled) {
		return lifecycle.End{}
	}
	facts := v.Facts(p.PastDeadline())
	facts.Settled, facts.Active = p.Settled, after.Active
	return lifecycle.Decide(&facts)
}

func (v *View) accountInputs(p *Plan, end lifecycle.End) tracking.AccountInputs {
	in := tracking.AccountInputs{
		Ending:   end.Interim,
		Deleting: v.Job.DeletionTimestamp != nil,
		Counted:  v.Totals.Results.Counted,
		Cap:      v.Config.UncountedCap,
		Removals: v.Config.RemovalsCap,
	}
	// The end is known, but this outcome does not store it. The pod that shows the
	// verdict must stay until one does.
	in.KeepFailsJob = !in.Deleting && p.End.Ended() && !p.End.Decided && !end.Ended()
	return in
}

// putOff returns how long the throttle delays the status write; 0 if it does not. It never
// delays what users wait for: suspending, resuming, the end and the first status.
func (o *Outcome) putOff(suspension bool) time.Duration {
	v := o.View
	nothing := !o.Changed && len(o.Account.Strip) == 0
	if nothing || suspension || o.End.Ended() || v.Job.Status.StartTime == nil {
		return 0
	}
	return throttled(v.Config.Throttle, v.LastStatus, v.Now, o.Account.Recorded, v.Spec.Parallelism)
}

// throttled returns how long to delay a status write that records the given number of
// pods; 0 means no delay. A last write in the future causes no delay.
func throttled(t tracking.Throttle, last, now time.Time, recorded int, parallelism int32) time.Duration {
	if t.Every <= 0 || last.IsZero() || last.After(now) || float64(recorded) > t.Share*float64(parallelism) {
		return 0
	}
	return max(0, t.Every-now.Sub(last))
}

func (v *View) suspensionEvents(suspension bool) []Event {
	switch {
	case !suspension:
		return nil
	case v.Spec.Suspended:
		return []Event{{corev1.EventTypeNormal, "Suspended", "Job suspended"}}
	}
	return []Event{{corev1.EventTypeNormal, "Resumed", "Job resumed"}}
}

// Soonest returns the shortest of the waits. 0 means no wait.
func Soonest(waits ...time.Duration) (soonest time.Duration) {
	for _, wait := range waits {
		if wait != 0 && (soonest == 0 || wait < soonest) {
			soonest = wait
		}
	}
	return soonest
}
