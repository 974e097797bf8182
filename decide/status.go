package decide

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
)

// statusAfter returns the status to store before any finalizer is removed, and whether the
// Job is suspended or resumed.
func (s *state) statusAfter(p *plan, after counts, end lifecycle.End,
	account *classify.Account) (st batchv1.JobStatus, suspension bool) {
	st = account.AddTo(s.statusWith(p.start, after), s.spec.Indexed)
	if s.spec.Indexed {
		s.putIndexes(&st)
	}
	if p.work.managed && !end.Ended() {
		suspension = lifecycle.Suspend(&st, s.spec.Suspended, s.Now)
	}
	lifecycle.EnterInterim(&st, end, s.Now)
	return st, suspension
}

// statusWith returns the status of the Job with another start time and other numbers of pods. It is a shallow copy:
// fields may be replaced, but what they point to must not be changed.
func (s *state) statusWith(start *metav1.Time, pods counts) batchv1.JobStatus {
	st := s.Job.Status
	st.StartTime = start
	st.Active, st.Ready, st.Terminating = pods.Active, &pods.Ready, &pods.Terminating
	if s.config.WithoutReplacement {
		st.Terminating = nil
	}
	return st
}

// putIndexes sets the indexes of an Indexed Job in a status.
func (s *state) putIndexes(out *batchv1.JobStatus) {
	results := &s.census.Results
	completed := int32(results.Completed.Len())
	// The API server lets status.succeeded fall only while completions equal
	// parallelism. Otherwise a counter above the number of completed indexes stays.
	if completed >= out.Succeeded || s.spec.Parallelism == *s.spec.Completions {
		out.Succeeded = completed
	}
	// Formatting a large set takes a thousand times longer than comparing it, and most
	// decisions do not change it.
	if old := s.stored.completed; old != nil && old.damage != nil || !results.Completed.Equal(old.indexes()) {
		out.CompletedIndexes = results.Completed.String()
	}
	old := s.stored.failed
	switch {
	case !s.spec.PerIndex():
		out.FailedIndexes = nil
	case out.FailedIndexes == nil || old != nil && old.damage != nil || !results.Failed.Equal(old.indexes()):
		out.FailedIndexes = new(results.Failed.String())
	}
}

// Settled is the result of removing finalizers.
type Settled struct {
	// Status is the status to store now; nil when it does not change.
	Status *batchv1.JobStatus
	// Finished says that Status has the terminal condition.
	Finished bool
	// Events and Metrics hold once Status is stored.
	Events  []Event
	Metrics []Metric
}

// Settle returns the status to store once that of the decision is stored and the finalizers of the
// given pods are removed. The Job does not end while a pod in Strip still has its finalizer. A
// Machine does this itself.
func (d Decision) Settle(gone ...types.UID) (out Settled) {
	o := d.made
	if o.final() || o.wait > 0 && d.Status == nil {
		return out
	}
	s, before := o.state, o.status
	if d.Status != nil {
		before = *d.Status
	}
	after := o.account.Settle(gone).AddTo(before, s.spec.Indexed)
	freed := sets.New(gone...)
	left := slices.ContainsFunc(d.Strip, func(pod *corev1.Pod) bool { return !freed.Has(pod.UID) })
	out.Finished = !o.account.Full && !left && lifecycle.EnterTerminal(&after, o.end, o.after.Terminating, s.Now)
	if jobstatus.Equal(&after, &before) {
		return out
	}
	out.Status = after.DeepCopy()
	var m metrics
	m.podsFinished(s, &before, &after)
	if out.Finished {
		m.finished(s, o.end)
		out.Events = s.endEvents(o.end, &after)
	}
	out.Metrics = m
	return out
}

func (s *state) endEvents(end lifecycle.End, st *batchv1.JobStatus) (events []Event) {
	if !end.Succeeds() {
		return []Event{{corev1.EventTypeWarning, end.Reason, end.Message}}
	}
	// status.succeeded of an Indexed Job may exceed the number of its completed
	// indexes, but no index completes twice.
	if !s.spec.Indexed && s.spec.Completions != nil && st.Succeeded > *s.spec.Completions {
		events = append(events, Event{corev1.EventTypeWarning, "TooManySucceededPods",
			"Too many succeeded pods running after completion count reached"})
	}
	return append(events, Event{corev1.EventTypeNormal, "Completed", "Job completed"})
}
