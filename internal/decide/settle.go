package decide

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/jobstatus"
)

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
func (o *Outcome) Settle(gone []types.UID) Settled {
	if !o.Planned() || o.PutOff {
		return Settled{}
	}
	v, st := o.View, o.Status
	settled := o.Account.Settle(gone)
	st.UncountedTerminatedPods = settled.Lists
	st.Failed = census.Sum(st.Failed, settled.Failed)
	if !v.Spec.Indexed {
		st.Succeeded = census.Sum(st.Succeeded, settled.Succeeded)
	}
	var s Settled
	if !o.Account.Full && containsAll(gone, o.Strip) {
		s.Finished = lifecycle.EnterTerminal(&st, o.End, o.After.Terminating, v.Now)
	}
	if jobstatus.Equal(&st, &o.Status) {
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

func containsAll(uids []types.UID, pods []*corev1.Pod) bool {
	set := make(map[types.UID]struct{}, len(uids))
	for _, uid := range uids {
		set[uid] = struct{}{}
	}
	for _, pod := range pods {
		if _, ok := set[pod.UID]; !ok {
			return false
		}
	}
	return true
}

func (v *View) endEvents(end lifecycle.End, st *batchv1.JobStatus) []Event {
	if !end.Succeeds() {
		return []Event{{corev1.EventTypeWarning, end.Reason, end.Message}}
	}
	completed := Event{corev1.EventTypeNormal, "Completed", "Job completed"}
	// status.succeeded of an Indexed Job may exceed the number of its completed
	// indexes, but no index completes twice.
	if !v.Spec.Indexed && v.Spec.Completions != nil && st.Succeeded > *v.Spec.Completions {
		return []Event{
			{corev1.EventTypeWarning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached"},
			completed,
		}
	}
	return []Event{completed}
}
