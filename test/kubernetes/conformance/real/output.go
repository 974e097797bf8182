package real

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// An Output is everything that one sync did.
type Output struct {
	// Calls lists the writes that the controller sent, including those that failed, in the
	// order of the batches. Within a batch, creations are ordered by number, and other calls
	// by the position of the pod in the input.
	Calls []Call
	// Events lists the events of the controller itself, in order. PodEvents are the events
	// that RealPodControl sends for each creation and deletion, in the order of Calls.
	Events, PodEvents []Event
	// Requeues lists the delays with which the controller has added the Job to its queue, in
	// order. The shortest one triggers the next sync.
	Requeues []time.Duration
	// Metrics lists the counters that have changed, as job_syncs_total{action="tracking",…}.
	Metrics map[string]float64
	Memory
	// Stale says that the controller skipped the sync because a cache is older than Wrote.
	Stale bool
	// Err is the error of syncJob, after which the queue retries. If calls of one batch fail
	// with different errors, it is any of them.
	Err   error
	Panic any // the panic of syncJob; the other fields describe what it did before
}

// A Call is one write.
type Call struct {
	Kind Kind
	// the name of the pod, Workload or PodGroup; for Create the name that the server generated
	Pod    string
	Object *corev1.Pod        // Create: the pod in the request, without a name
	Patch  []byte             // Adopt, Release, StripToDelete, Strip: the strategic merge patch
	Status *batchv1.JobStatus // WriteStatus
	Err    error              // the server's answer
}

// A Kind is the purpose of a call.
type Kind string

// The kinds of calls, in the words of test/vectors and in the order in which a sync sends them. A sync with
// StripToDelete or Delete has no Create.
const (
	Adopt         Kind = "adopt"   // add the owner reference and the finalizer
	Release       Kind = "release" // remove both, because the selector no longer matches
	StripToDelete Kind = "untrack" // remove the finalizer so that the deletion does not count
	Delete        Kind = "delete"
	Create        Kind = "create"
	WriteStatus   Kind = "status"
	Strip         Kind = "strip" // remove the finalizer of a counted pod
	// With the gate WorkloadWithJob on, these come first.
	CreateWorkload Kind = "create workload"
	CreatePodGroup Kind = "create pod group"
)

// An Event is an event about the Job.
type Event struct {
	Type, Reason, Message string
}

// done returns the calls of one kind that succeeded.
func (o Output) done(kind Kind) []Call {
	return slices.DeleteFunc(slices.Clone(o.Calls), func(c Call) bool { return c.Kind != kind || c.Err != nil })
}

// Done returns the names of the pods of the calls of one kind that succeeded.
func (o Output) Done(kind Kind) (names []string) {
	for _, c := range o.done(kind) {
		names = append(names, c.Pod)
	}
	return names
}

// Created returns the created pods, as in the requests.
func (o Output) Created() (pods []*corev1.Pod) {
	for _, c := range o.done(Create) {
		pods = append(pods, c.Object)
	}
	return pods
}

// Statuses returns the statuses that were stored.
func (o Output) Statuses() (statuses []*batchv1.JobStatus) {
	for _, c := range o.done(WriteStatus) {
		statuses = append(statuses, c.Status)
	}
	return statuses
}
