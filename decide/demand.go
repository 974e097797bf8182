package decide

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/tracking"
)

// Demand is the number of pods that a Job can still run. A pod runs from its creation
// until it has ended, so pending and terminating pods count as running.
//
// The upper bounds of a Job
//
//   - with completions: at once the lesser of parallelism and the remaining completions; in total
//     the remaining completions plus the remaining failures
//   - without completions (a work queue): at once parallelism, or after the first success the
//     running pods; in total that plus the remaining failures
//   - with backoffLimitPerIndex: at once the lesser of parallelism and the unfinished indexes; in
//     total a pod for each of these plus its remaining retries
//   - that is being deleted or decided, or whose suspension was observed: the running pods
//
// The lower bounds assume the end that needs the fewest pods: success, one failure above the limit,
// a FailJob rule, or a deadline. With the policy TerminatingOrFailed the terminating pods are
// added, because their replacements may run at the same time.
type Demand struct {
	// AtOnce bounds the largest number of pods that run at the same time. Reserve
	// AtOnce.Most pods for the Job.
	AtOnce Range
	// InTotal bounds the number of pods that run from now on: the pods that run now and
	// those that are created later.
	InTotal Range
	// Unbounded says that InTotal has no upper bound, because the pod failure policy has
	// an Ignore rule: pods with ignored failures are replaced without end. InTotal.Most is
	// then the largest int64.
	Unbounded bool
}

// Range holds the bounds of a number.
type Range struct {
	Least int64
	Most  int64
}

// DemandOf returns the demand of a Job for the rest of its life, with its current spec, as of the last
// status write. It may be too high for a work queue with a success, and if failures have used up part
// of a limit per index. A nil Job has no demand. What [DemandWithPods] says holds here too.
func DemandOf(job *batchv1.Job) Demand {
	return demandOf(job, false, nil, tracking.Keys{})
}

// DemandWithPods is DemandOf with the pods that the Job controls; nil means that there are none, and
// pods of other owners are ignored. The zero keys are those of Kubernetes; pass those of a custom
// resource whose pods use others.
//
// A Job that is suspended, being deleted, or decided gets no more pods. To find out what a suspended
// Job needs once it is resumed, pass a copy that is not suspended.
//
// Until the Job controller has observed that a Job is suspended, it may still create pods, and the
// upper bounds include them. No status says which spec it was written for: a Job that was resumed and
// suspended again has the condition of the suspension before. So the upper bounds include them
// unless metadata.generation shows that the Job was not resumed before. A caller that knows that the
// suspension was observed, see [jobstatus.Suspension], uses the lower bounds: then they are the pods that run.
//
// A generation of 1 means that the spec was never edited, and 0 that this is unknown. With a fake that
// does not raise the generation, a suspended Job looks as if it had never been resumed, and the
// bounds lack pods from before an edit.
//
// The bounds hold however the pods end and whatever the API server rejects, and each bound can be
// reached. There are two exceptions: with a success policy, and after the spec was edited, an upper
// bound may be too high. The bounds do not account for actions of others:
//
//   - The spec is edited, or the Job is deleted. A controller that has not observed this
//     yet continues as before for a moment. For a Job that is suspended, the bounds include this.
//     For one that is resumed they assume that its suspension was observed before; if not, AtOnce
//     still holds with the pod replacement policy Failed.
//   - An Indexed Job is scaled down and up again, and a pod that ended beyond the
//     completions is gone by then. A controller that still observes the pod with its
//     finalizer counts it, and creates no other pod for its index.
//   - With the pod replacement policy TerminatingOrFailed, a pod that is evicted or
//     deleted from now on is replaced while it terminates. AtOnce does not include this.
//   - A pod loses its finalizer or its owner. It is replaced without having been counted.
//   - A controller that is killed, or gets no answer to a creation, may create another pod.
//
// There is no clock, so a deadline is assumed to pass at any time.
func DemandWithPods(job *batchv1.Job, pods []*corev1.Pod, keys tracking.Keys) Demand {
	return demandOf(job, true, pods, keys)
}

func demandOf(job *batchv1.Job, byPod bool, pods []*corev1.Pod, keys tracking.Keys) Demand {
	if job == nil {
		return Demand{}
	}
	s := newSupply(job, byPod, pods, keys)
	most := s.mostCreated()
	least := min(s.leastCreated(), most) // a status may contradict its spec
	d := Demand{
		AtOnce:    Range{Least: max(s.running(), min(least, 1)), Most: s.mostAtOnce(most)},
		InTotal:   Range{Least: s.running() + least, Most: math.MaxInt64},
		Unbounded: most == unbounded,
	}
	if !d.Unbounded {
		d.InTotal.Most = s.running() + most
	}
	return d
}
