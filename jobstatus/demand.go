package jobstatus

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/tracking"
)

// Demand is how many pods a Job can still run. A pod runs from its creation until
// it has ended; a pending or terminating pod holds resources as well.
type Demand struct {
	// AtOnce is the largest number of pods that run at the same time. AtOnce.Most is
	// what to reserve for the Job.
	AtOnce Range
	// InTotal is the number of pods that run from now on: those that run now and
	// those that are created later.
	InTotal Range
	// Unbounded says that InTotal has no upper bound: failures that an Ignore rule of
	// the pod failure policy takes out of the count are replaced without end.
	// InTotal.Most is then the largest int64.
	Unbounded bool
}

// Range is a number of which only the bounds are known.
type Range struct {
	Least int64
	Most  int64
}

// DemandOf returns the demand of a Job for the rest of its life, as its spec stands. A
// Job that is suspended, that is being deleted, or whose end is decided gets no further
// pod. To ask what a suspended Job takes once it is resumed, ask about a copy that is
// not suspended. A nil Job has no demand.
//
// The pods are those that the Job controls; pods of other owners are passed over. Nil
// stands for pods that are not known: then the demand is that from the time at which
// the status was written, and a work queue that has a success, or a limit per index
// that has been used, may show more than is left. For a kind of your own, whose pods do
// not carry the names of Kubernetes, give its keys as well.
//
// The bounds hold however the pods end and whatever the API server refuses, and some
// life of the Job attains each, with two exceptions: with a success policy, and once the
// spec has been edited, an upper bound may be too high. What others do is not foreseen:
//
//   - The spec is edited, or the Job deleted. A controller that does not know it yet goes
//     on as before for a moment; of a Job that is being suspended this is allowed for.
//   - With the pod replacement policy TerminatingOrFailed, a pod that is evicted or
//     deleted from now on is replaced while it terminates, which AtOnce leaves out.
//   - A pod loses its finalizer or its owner. It is replaced without having been counted.
//   - A controller that is killed, or does not hear that it has created a pod, may create
//     another one.
//
// There is no clock here, so a deadline may pass at any time.
func DemandOf(job *batchv1.Job, pods []*corev1.Pod, of ...tracking.Keys) Demand {
	if job == nil {
		return Demand{}
	}
	var names tracking.Keys
	if len(of) > 0 {
		names = of[0]
	}
	s := newSupply(job, pods, names)
	most := s.mostCreated()
	least := min(s.leastCreated(), most) // a status may contradict its spec
	d := Demand{
		AtOnce:    Range{Least: max(s.running, min(least, 1)), Most: s.mostAtOnce(most)},
		InTotal:   Range{Least: s.running + least, Most: math.MaxInt64},
		Unbounded: most == unbounded,
	}
	if !d.Unbounded {
		d.InTotal.Most = s.running + most
	}
	return d
}
