package decide

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/sidecar"
)

// Cause says why a pod is deleted.
type Cause string

// The causes.
const (
	CauseJobEnds   Cause = "JobEnds"
	CauseSuspended Cause = "Suspended"
	CauseTooMany   Cause = "TooMany"
	CauseDuplicate Cause = "DuplicateIndex"
	CauseBeyond    Cause = "IndexBeyondCompletions"
	CauseNoIndex   Cause = "NoIndex"
)

// Deletion is a pod to delete.
type Deletion struct {
	Record     *census.Record
	StripFirst bool
	Cause      Cause
}

// deletions returns the active pods to delete when tooMany of them are surplus. In an
// Indexed Job it deletes pods without a valid index and all but one of the pods of an
// index in any case, even if these are more than tooMany.
func (v *View) deletions(tooMany int, cause Cause) []Deletion {
	if tooMany == 0 && !v.Census.Misplaced() {
		return nil
	}
	r := removal{left: v.activePods()}
	if v.Spec.Indexed {
		r.removeMisplaced(*v.Spec.Completions)
	}
	if more := tooMany - len(r.remove); more > 0 {
		slices.SortStableFunc(r.left, cheapestFirst)
		r.take(r.left[:more], cause)
	}
	return r.remove
}

// candidate is an active pod with the properties that decide which pods are deleted first.
type candidate struct {
	*census.Record
	assigned bool
	phase    int
	readyAt  time.Time
	restarts containerRestarts
	created  time.Time
}

type containerRestarts struct{ regular, sidecar int32 }

// activePods returns the candidates, ordered by index and UID.
func (v *View) activePods() []candidate {
	records := v.Census.ActiveInOrder()
	out := make([]candidate, len(records))
	for i, r := range records {
		out[i] = newCandidate(r)
	}
	return out
}

func newCandidate(r *census.Record) candidate {
	c := candidate{
		Record:   r,
		assigned: r.Pod.Spec.NodeName != "",
		restarts: restartsOf(r.Pod),
		created:  r.Pod.CreationTimestamp.Time,
	}
	switch r.Pod.Status.Phase {
	case corev1.PodUnknown:
		c.phase = 1
	case corev1.PodRunning:
		c.phase = 2
	}
	for i := range r.Pod.Status.Conditions {
		if cond := &r.Pod.Status.Conditions[i]; cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue {
			c.readyAt = cond.LastTransitionTime.Time
			break
		}
	}
	return c
}

func restartsOf(pod *corev1.Pod) (most containerRestarts) {
	for i := range pod.Status.ContainerStatuses {
		most.regular = max(most.regular, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for status := range sidecar.Statuses(pod) {
		most.sidecar = max(most.sidecar, status.RestartCount)
	}
	return most
}

// cheapestFirst orders pods by how little is lost when they are deleted. First come pods
// without a node, then pods in an earlier phase, not ready, ready for a shorter time,
// restarted more often, and created later. An unknown time counts as the latest.
func cheapestFirst(a, b candidate) int {
	if c := cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.Ready, b.Ready),
	); c != 0 {
		return c
	}
	if a.Ready {
		if c := latestFirst(a.readyAt, b.readyAt); c != 0 {
			return c
		}
	}
	return cmp.Or(
		cmp.Compare(b.restarts.regular, a.restarts.regular),
		cmp.Compare(b.restarts.sidecar, a.restarts.sidecar),
		latestFirst(a.created, b.created),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func latestFirst(a, b time.Time) int {
	switch {
	case a.Equal(b):
		return 0
	case a.IsZero():
		return -1
	case b.IsZero():
		return 1
	}
	return b.Compare(a)
}

// removal divides active pods into those to delete and those that may stay.
type removal struct {
	remove []Deletion
	left   []candidate
}

func (r *removal) take(pods []candidate, cause Cause) {
	for _, c := range pods {
		r.remove = append(r.remove, Deletion{Record: c.Record, StripFirst: c.Finalized, Cause: cause})
	}
}

// removeMisplaced deletes the pods without a valid index, and all but the most valuable
// pod of each index. The order is that of the Job controller: the highest valid index
// comes last. The order matters when a cap splits the deletions.
func (r *removal) removeMisplaced(completions int32) {
	pods := r.left
	r.left = make([]candidate, 0, len(pods))
	valid := pods
	var beyond []candidate
	if i := slices.IndexFunc(pods, func(c candidate) bool { return c.Index >= completions }); i >= 0 {
		valid, beyond = pods[:i], pods[i:]
	}
	for len(valid) > 0 {
		n := 1
		for n < len(valid) && valid[n].Index == valid[0].Index {
			n++
		}
		if n == len(valid) {
			r.take(beyond, CauseBeyond)
			beyond = nil
		}
		r.keepBest(valid[:n])
		valid = valid[n:]
	}
	r.take(beyond, CauseBeyond)
}

// keepBest keeps the most valuable of the pods of one index.
func (r *removal) keepBest(same []candidate) {
	if same[0].Index == keys.NoIndex {
		r.take(same, CauseNoIndex)
		return
	}
	slices.SortStableFunc(same, cheapestFirst)
	best := len(same) - 1
	r.take(same[:best], CauseDuplicate)
	r.left = append(r.left, same[best])
}
