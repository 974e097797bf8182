package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// statusAfter returns the status to store before any finalizer is removed, and whether the
// Job is suspended or resumed.
func (v *View) statusAfter(p *Plan, after Counts, end lifecycle.End,
	account *tracking.Account) (st batchv1.JobStatus, suspension bool) {
	st = v.Job.Status // a shallow copy: fields are replaced, what they point to is not changed
	st.StartTime = p.Start
	st.Active = after.Active
	st.Ready = &after.Ready
	st.Terminating = &after.Terminating
	if v.Config.WithoutReplacement {
		st.Terminating = nil
	}
	st = account.AddTo(st, v.Spec.Indexed)
	if v.Spec.Indexed {
		v.putIndexes(&st)
	}
	if p.Work.Managed && !end.Ended() {
		suspension = lifecycle.Suspend(&st, v.Spec.Suspended, v.Now)
	}
	lifecycle.EnterInterim(&st, end, v.Now)
	return st, suspension
}

// putIndexes sets the indexes of an Indexed Job in a status.
func (v *View) putIndexes(out *batchv1.JobStatus) {
	results := &v.Totals.Results
	completed := int32(results.Completed.Len())
	// The API server lets status.succeeded fall only while completions equal
	// parallelism. Otherwise a counter above the number of completed indexes stays.
	if completed >= out.Succeeded || v.Spec.Parallelism == *v.Spec.Completions {
		out.Succeeded = completed
	}
	// Formatting a large set takes a thousand times longer than comparing it, and most
	// decisions do not change it.
	if old := &v.Status.Completed; old.damage != nil || !results.Completed.Equal(old.set) {
		out.CompletedIndexes = results.Completed.String()
	}
	switch old := &v.Status.Failed; {
	case !v.Spec.PerIndex():
		out.FailedIndexes = nil
	case out.FailedIndexes == nil || old.damage != nil || !results.Failed.Equal(old.set):
		failed := results.Failed.String()
		out.FailedIndexes = &failed
	}
}

// Settled is the result of removing finalizers.
type Settled struct {
	// Status is the status to store now; nil when it does not change.
	Status *batchv1.JobStatus
	// Finished says that Status has the terminal condition.
	Finished bool
	Events   []Event
	Metrics  []Metric
}

// Settle returns the result of removing the finalizers of the given pods. The Job does not
// end while a pod in Strip still has its finalizer.
func (o *Outcome) Settle(gone []types.UID) (s Settled) {
	if !o.Planned() || o.PutOff {
		return s
	}
	v := o.View
	st := o.Account.Settle(gone).AddTo(o.Status, v.Spec.Indexed)
	set := setOf(gone)
	left := slices.ContainsFunc(o.Strip, func(pod *corev1.Pod) bool { return !set[pod.UID] })
	s.Finished = !o.Account.Full && !left && lifecycle.EnterTerminal(&st, o.End, o.After.Terminating, v.Now)
	if lifecycle.Equal(&st, &o.Status) {
		return s
	}
	s.Status = st.DeepCopy()
	var m metrics
	m.podsFinished(v, &o.Status, &st)
	if s.Finished {
		m.finished(v, o.End)
		s.Events = v.endEvents(o.End, &st)
	}
	s.Metrics = m
	return s
}

func (v *View) endEvents(end lifecycle.End, st *batchv1.JobStatus) (events []Event) {
	if !end.Succeeds() {
		return []Event{{corev1.EventTypeWarning, end.Reason, end.Message}}
	}
	// status.succeeded of an Indexed Job may exceed the number of its completed
	// indexes, but no index completes twice.
	if !v.Spec.Indexed && v.Spec.Completions != nil && st.Succeeded > *v.Spec.Completions {
		events = append(events, Event{corev1.EventTypeWarning, "TooManySucceededPods",
			"Too many succeeded pods running after completion count reached"})
	}
	return append(events, Event{corev1.EventTypeNormal, "Completed", "Job completed"})
}
