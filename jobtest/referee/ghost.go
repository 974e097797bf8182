package referee

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// Ghost records the past for the referee. The zero Ghost is that of a new Job.
type Ghost struct {
	// Charged lists the pods that a stored status recorded, with the recorded phase. A pod
	// that was orphaned later, or is no longer selected, is kept as released, and may be
	// counted again if it is adopted again. A failure before a counted success is kept as
	// forgiven, because it no longer delays pods.
	Charged map[types.UID]corev1.PodPhase
	// Failed and Succeeded count all pods that were ever charged.
	Failed, Succeeded int32
	// Parallelism is the largest parallelism that the Job has had.
	Parallelism int32
	// Failures has, for each index, the highest failure count of its pods.
	Failures map[int32]int32
	// Tampered lists pods that users have edited or added.
	Tampered map[types.UID]bool
	// Adopted lists pods that the controller has adopted. They may have been orphaned again
	// since, without the controller observing it.
	Adopted map[types.UID]bool
	// Unknown lists pods whose creation had no answer, until the controller observes them.
	Unknown map[types.UID]bool
	// Deleted lists pods that the controller has deleted, until it observes that.
	Deleted map[types.UID]bool
	// Behind says that the controller was restarted with a view that lacks writes of its
	// predecessor. Until its caches have caught up, it may create surplus pods.
	Behind bool
	// InDoubt says that the controller computes its backoff record from the pods that it
	// observes. It does so after a restart, or after a status write whose answer was lost,
	// until it stores a status.
	InDoubt bool
	// StateLost says that annotations or finalizers of pods were removed that hold state
	// of the Job.
	StateLost bool
}

// These replace the phase in Charged: released for a charged pod that no longer belongs to
// the Job, forgiven for a failed pod that no longer delays others.
const (
	released corev1.PodPhase = "released"
	forgiven corev1.PodPhase = "forgiven"
)

// Clone returns a deep copy.
func (g Ghost) Clone() Ghost {
	g.Charged, g.Failures, g.Tampered, g.Adopted = maps.Clone(g.Charged), maps.Clone(g.Failures),
		maps.Clone(g.Tampered), maps.Clone(g.Adopted)
	g.Unknown, g.Deleted = maps.Clone(g.Unknown), maps.Clone(g.Deleted)
	return g
}

// Key returns the ghost as text: ghosts with equal keys are equal. A search calls it after
// every move. It avoids fmt.Sprint, which took a tenth of the search time.
func (g Ghost) Key() string {
	b := make([]byte, 0, 128)
	for _, uid := range slices.Sorted(maps.Keys(g.Charged)) {
		b = append(append(append(append(b, uid...), '='), g.Charged[uid]...), ' ')
	}
	for _, index := range slices.Sorted(maps.Keys(g.Failures)) {
		b = spaced(append(spaced(b, index), '='), g.Failures[index])
	}
	for at, set := range []map[types.UID]bool{g.Tampered, g.Adopted, g.Unknown, g.Deleted} {
		for _, uid := range slices.Sorted(maps.Keys(set)) {
			b = append(append(append(b, " +?-"[at]), uid...), ' ')
		}
	}
	b = spaced(spaced(spaced(b, g.Failed), g.Succeeded), g.Parallelism)
	b = append(strconv.AppendBool(b, g.Behind), ' ')
	b = append(strconv.AppendBool(b, g.InDoubt), ' ')
	return string(strconv.AppendBool(b, g.StateLost))
}

func spaced(b []byte, n int32) []byte { return append(strconv.AppendInt(b, int64(n), 10), ' ') }

// Forget removes a pod that is gone and no longer referenced, so that another pod may get
// its UID.
func (g *Ghost) Forget(uid types.UID) {
	delete(g.Charged, uid)
	delete(g.Tampered, uid)
	delete(g.Adopted, uid)
	delete(g.Unknown, uid)
	delete(g.Deleted, uid)
}

// observe records which of the writes of the controller a view shows.
func (g *Ghost) observe(v *cluster.View) {
	maps.DeleteFunc(g.Unknown, func(uid types.UID, _ bool) bool { return find(v.Pods, uid) != nil })
	maps.DeleteFunc(g.Deleted, func(uid types.UID, _ bool) bool {
		pod := find(v.Pods, uid)
		return pod == nil || !cluster.IsActive(pod)
	})
}

// release records that a pod no longer belongs to the Job.
func (g *Ghost) release(uid types.UID) {
	if _, ok := g.Charged[uid]; ok {
		g.Charged[uid] = released
	}
	g.Tampered[uid], g.StateLost = true, true
}

// Forgive says that the controller cannot know the failures so far, because another
// controller counted them. They do not delay pods any more. With a backoff limit per index
// Forgive has no effect, because the pods have the counts.
func (g *Ghost) Forgive() { g.forgive(&cluster.View{}, nil, true) }

// Started must be called for the first Job, and for each Job that is created later under
// the same name.
func (g *Ghost) Started(job *batchv1.Job) {
	*g = Ghost{Failures: map[int32]int32{}, Tampered: g.Tampered, Adopted: map[types.UID]bool{}, Behind: g.Behind,
		InDoubt: g.InDoubt,
		Unknown: map[types.UID]bool{}, Deleted: map[types.UID]bool{}}
	if g.Tampered == nil {
		g.Tampered = map[types.UID]bool{}
	}
	g.accept(&job.Status)
	g.spec(job)
}

// accept accepts a status that no controller stored as correct.
func (g *Ghost) accept(st *batchv1.JobStatus) {
	g.Charged, g.Failed, g.Succeeded = map[types.UID]corev1.PodPhase{}, st.Failed, st.Succeeded
	failed, succeeded := uncounted(st)
	for _, uid := range failed {
		g.Charged[uid] = corev1.PodFailed
		g.Failed++
	}
	for _, uid := range succeeded {
		if _, ok := g.Charged[uid]; !ok {
			g.Charged[uid] = corev1.PodSucceeded
			g.Succeeded++
		}
	}
}

func (g *Ghost) spec(job *batchv1.Job) {
	if p := job.Spec.Parallelism; p != nil {
		g.Parallelism = max(g.Parallelism, *p)
	}
	// Failures of indexes beyond the completions are forgotten.
	for index := range g.Failures {
		if n := job.Spec.Completions; n != nil && index >= *n {
			delete(g.Failures, index)
		}
	}
}

// charge records the UIDs that a status adds.
func (g *Ghost) charge(old, now []types.UID, as corev1.PodPhase) (new []types.UID, err error) {
	for _, uid := range now {
		if slices.Contains(old, uid) {
			continue
		}
		if before, ok := g.Charged[uid]; ok && before != released {
			return nil, fmt.Errorf("%s is counted as %s, but was already counted as %s", uid, as, before)
		}
		g.Charged[uid] = as
		new = append(new, uid)
		if as == corev1.PodFailed {
			g.Failed++
		} else {
			g.Succeeded++
		}
	}
	return new, nil
}
