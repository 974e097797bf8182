package jobfate

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobstatus"
)

// Settlement is what follows once finalizers are gone.
type Settlement struct {
	// Status is the status to store now; nil when nothing changes. It moves the
	// pods whose finalizer is gone from the lists to the counters, and ends the
	// Job when nothing is left.
	Status *batchv1.JobStatus
	// Finished says that Status has the terminal condition.
	Finished bool
	// Events and Metrics are to be told once Status is stored.
	Events  []Event
	Metrics []Metric

	uid types.UID
}

// StatusPatch returns Status as a JSON merge patch, like Decision.StatusPatch.
// The resource version is the one that storing the decision's status returned,
// or the snapshot's when there was none to store.
func (s Settlement) StatusPatch(resourceVersion string) []byte {
	if s.Status == nil {
		return nil
	}
	return jobstatus.Patch(s.uid, resourceVersion, s.Status)
}

// Settle returns what to store once the finalizers of the given pods are gone:
// of those in Strip that were removed, and of those that were gone already. To
// settle all of them, pass Strip. It is called only after Status is stored.
//
// As long as a finalizer of Strip is left the Job does not end.
func (d Decision) Settle(gone ...*corev1.Pod) Settlement {
	s := d.next
	if s == nil || s.throttled {
		return Settlement{uid: d.uid}
	}
	uids := make([]types.UID, 0, len(gone))
	for _, pod := range gone {
		if pod != nil {
			uids = append(uids, pod.UID)
		}
	}
	settled := s.account.Settle(uids)
	st := s.base
	st.UncountedTerminatedPods = settled.Lists
	st.Failed = sum(st.Failed, settled.Failed)
	if !s.indexed {
		st.Succeeded = sum(st.Succeeded, settled.Succeeded)
	}
	out := Settlement{uid: d.uid}
	if !s.account.Full && containsAll(uids, d.Strip) {
		out.Finished = jobstatus.EnterTerminal(&st, s.final, s.after.terminating, s.now)
	}
	if jobstatus.Equal(&st, &s.base) {
		return out
	}
	out.Status = st.DeepCopy()
	var m metrics
	m.podsFinished(s, &s.base, &st, s.newSets(), s.newSets())
	if out.Finished {
		m.finished(s, s.final)
		out.Events = s.endEvents(&st)
	}
	out.Metrics = m
	return out
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

func (s *step) endEvents(st *batchv1.JobStatus) []Event {
	if !s.final.Succeeds() {
		return []Event{{Warning, s.final.Reason, s.final.Message}}
	}
	completed := Event{Normal, "Completed", "Job completed"}
	// The counter of an Indexed Job may be above what its indexes say, but no
	// index completes twice.
	if !s.indexed && s.completions != nil && st.Succeeded > *s.completions {
		return []Event{
			{Warning, "TooManySucceededPods", "Too many succeeded pods running after completion count reached"},
			completed,
		}
	}
	return []Event{completed}
}
