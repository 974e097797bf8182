package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
)

// Undone lists the creations and deletions of a decision that were not carried out. The caller retries them.
type Undone struct {
	// Creations is the number of creations that failed or were not tried, Untried of those that were not tried.
	Creations, Untried int
	// Deletions lists the UIDs of the pods that were not deleted.
	Deletions []types.UID
}

// outcome is what a plan leads to, given which of its creations and deletions are carried out. A Decision is a view of
// it. Like a plan, it is complete when it is made.
type outcome struct {
	state *state
	// plan is zero for a Job that has ended, and while the last status write is not
	// observed.
	plan   plan
	undone Undone
	// after counts the pods once the plan is carried out.
	after counts
	// end is how the Job ends once the plan is carried out. It is zero while pods may
	// exist that are not counted.
	end     lifecycle.End
	account classify.Account
	// status is the status to store before any finalizer is removed. changed says that it differs from that of the
	// Job, suspension that it suspends or resumes the Job, keepsVerdict that pods keep their finalizer until the
	// verdict that they show is stored. announces says that it is stored only for the interim condition.
	status                                       batchv1.JobStatus
	changed, suspension, keepsVerdict, announces bool
	changes                                      uint32 // of the census until now
	// wait is how long the throttle delays the status write.
	wait time.Duration
}

// counts are numbers of pods.
type counts struct{ Active, Ready, Terminating int32 }

// planned reports whether there is a plan.
func (o *outcome) planned() bool { return o != nil && o.plan.work.action != "" }

// final reports whether neither a failed write nor the removal of finalizers changes the outcome.
func (o *outcome) final() bool { return !o.planned() || o.announces }

// ending returns how the Job ends, even while pods may exist that are not counted.
func (o *outcome) ending() lifecycle.End {
	if o.end.Ended() {
		return o.end
	}
	return o.plan.end
}

// Revise returns the decision that holds if some of the creations and deletions of this one
// are not carried out. A Machine does this itself.
func (d Decision) Revise(undone Undone) Decision {
	if d.made.final() {
		return d.Clone()
	}
	return d.made.state.close(d.made.plan, undone).decision().detached()
}

// afterTheEnd returns the decision for a Job that has ended: its status is never written
// again, and the remaining finalizers are removed.
func (s *state) afterTheEnd() Decision {
	d := Decision{Backoff: s.known, Claim: s.claims(), made: &outcome{state: s, after: s.counts()}}
	var strip []*corev1.Pod
	for _, r := range s.census.TrackedInOrder() {
		strip = append(strip, r.Pod)
	}
	if n := s.config.RemovalsCap; n > 0 && len(strip) > n {
		d.Deferred.Strip, d.Requeue = int32(len(strip)-n), s.config.BatchPeriod
		strip = strip[:n]
	}
	d.Strip = strip
	return d
}

// counts returns the numbers of pods before the plan is carried out. They include the known
// writes in flight: stale pods must not contradict the status that counted these writes.
func (s *state) counts() counts {
	c := counts{s.census.Active, s.census.Ready, s.census.Terminating}
	for _, pod := range s.InFlight.Pods {
		r := s.census.Of(pod.UID)
		switch {
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
func (c *counts) delete(r *census.Record) {
	c.Active--
	c.Terminating++
	if r.Ready {
		c.Ready--
	}
}

// close returns what a plan leads to, given the creations and deletions that are not carried out.
func (s *state) close(p plan, undone Undone) *outcome {
	after := s.after(&p, undone)
	end := s.endAfter(&p, after, len(undone.Deletions) > 0)
	inputs := s.accountInputs(&p, end)
	account := s.census.Account(inputs)
	status, suspension := s.statusAfter(&p, after, end, &account)
	changed, wait := !jobstatus.Equal(&status, &s.Job.Status), time.Duration(0)
	// The throttle never delays the writes that users wait for: suspending, resuming, the end and the first status.
	if (changed || len(account.Strip) > 0) && !suspension && !end.Ended() && s.Job.Status.StartTime != nil {
		wait = throttled(s.config.Throttle, s.LastStatus, s.Now, account.Recorded, s.spec.Parallelism)
	}
	return &outcome{state: s, plan: p, undone: undone, after: after, end: end, account: account, status: status,
		changed: changed, suspension: suspension, keepsVerdict: inputs.KeepFailsJob, wait: wait,
		changes: s.census.Changes}
}

// decision returns the decision that an outcome stands for.
func (o *outcome) decision() Decision {
	s, p, left := o.state, &o.plan, o.plan.work.deferred
	left.Strip = int32(o.account.Deferred)
	d := Decision{
		Claim: s.claims(), Delete: p.work.delete, Create: p.work.create, Deferred: left,
		Backoff: s.known, Action: p.work.action, made: o,
		Requeue: soonest(p.work.wait, p.timer(), o.wait, o.untilRest(left), s.census.UntilLost),
	}
	var m metrics
	if len(p.work.create) > 0 {
		failed := max(0, o.undone.Creations-max(o.undone.Untried, 0))
		m.created(s, int(o.after.Active-s.census.Active), failed)
	}
	if o.wait == 0 {
		if o.changed {
			d.Status = o.status.DeepCopy()
			m.indexesFinished(s)
			m.podsFinished(s, &s.Job.Status, &o.status)
		}
		m.handled(o.account.Handled)
		d.Strip, d.Backoff, d.Events = o.account.Strip, o.record(), s.suspensionEvents(o.suspension)
	}
	d.Metrics = m
	return d
}

// record returns the backoff record that holds once the status is stored.
func (o *outcome) record() backoff.Record {
	switch {
	case o.state.config.RemovalsCap > 0 && o.account.Deferred > 0:
		return o.state.recorded(o.account.Strip)
	case o.keepsVerdict:
		return o.state.record(true)
	}
	return o.plan.record
}

// untilRest returns the time until the next sync when the caps have left work: pods, or only the
// end of a Job whose last pods this sync counts. Observing this sync's writes starts a sync too,
// but the remaining work must not depend on that. If creations or deletions have failed, the rest of
// them waits for the retries, whose delays grow: a quota may refuse them for hours.
func (o *outcome) untilRest(left Deferred) time.Duration {
	if o.undone.Creations > 0 {
		left.Create = 0
	}
	if len(o.undone.Deletions) > 0 {
		left.Delete = 0
	}
	if o.wait > 0 && o.state.config.RemovalsCap > 0 { // the throttle says when the rest is recorded
		left.Strip = 0
	}
	ends := o.end.Ended() && o.account.Full && o.after.Active == 0 && o.after.Terminating == 0
	if !ends && left == (Deferred{}) {
		return 0
	}
	return o.state.config.BatchPeriod
}

// after returns the numbers of pods once the plan is carried out.
func (s *state) after(p *plan, undone Undone) counts {
	c := s.counts()
	c.Active += int32(len(p.work.create) - min(max(undone.Creations, 0), len(p.work.create)))
	skip := sets.New(undone.Deletions...) // and those that counts has counted
	for _, pod := range s.InFlight.Pods {
		if pod.Deleted {
			skip.Insert(pod.UID)
		}
	}
	for _, d := range p.work.delete {
		if !skip.Has(d.Pod.UID) {
			c.delete(s.census.Of(d.Pod.UID))
		}
	}
	return c
}

// endAfter returns how the Job ends once the plan is carried out. The Job does not end
// while a deletion is outstanding or a write is unobserved, because pods may exist that
// are not counted.
func (s *state) endAfter(p *plan, after counts, undeleted bool) lifecycle.End {
	if p.end.Ended() && (undeleted || !p.settled) {
		return lifecycle.End{}
	}
	facts := s.endFacts(p.pastDeadline())
	facts.Settled, facts.Active = p.settled, after.Active
	return lifecycle.EndOf(&facts)
}

func (s *state) accountInputs(p *plan, end lifecycle.End) classify.AccountInputs {
	in := classify.AccountInputs{
		Ending:   end.Interim,
		Deleting: s.Job.DeletionTimestamp != nil,
		Counted:  s.census.Counted(),
		Cap:      s.config.UncountedCap,
		Removals: s.config.RemovalsCap,
	}
	// The end is known, but this outcome does not store it. The pod that shows the verdict must
	// stay until the verdict is stored.
	in.KeepFailsJob = !in.Deleting && p.end.Ended() && !p.end.Decided && !end.Ended()
	return in
}

// throttled returns how long to delay a status write that records the given number of
// pods; 0 means no delay. A last write in the future causes no delay.
func throttled(t throttle, last, now time.Time, recorded int, parallelism int32) time.Duration {
	if t.Every <= 0 || last.IsZero() || last.After(now) || float64(recorded) > t.Share*float64(parallelism) {
		return 0
	}
	return max(0, t.Every-now.Sub(last))
}

func (s *state) suspensionEvents(suspension bool) []Event {
	switch {
	case !suspension:
		return nil
	case s.spec.Suspended:
		return []Event{{corev1.EventTypeNormal, "Suspended", "Job suspended"}}
	}
	return []Event{{corev1.EventTypeNormal, "Resumed", "Job resumed"}}
}

// soonest returns the shortest of the waits. 0 means no wait.
func soonest(waits ...time.Duration) (least time.Duration) {
	for _, wait := range waits {
		if wait != 0 && (least == 0 || wait < least) {
			least = wait
		}
	}
	return least
}
