package real

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// An Output is everything that one sync did.
type Output struct {
	// Calls are the writes that the controller sent, failed ones included, in
	// the order of the batches; within a batch by ordinal or by the pod's place
	// in the input.
	Calls []Call
	// Events are those of the controller itself, in their order. PodEvents are
	// those that RealPodControl sends for each creation and deletion, in the
	// order of Calls.
	Events, PodEvents []Event
	// Requeues are the delays after which the controller wants the Job again,
	// in their order. All of them stand: the queue wakes it up at the first.
	Requeues []time.Duration
	// Metrics are the counters that moved, as job_syncs_total{action="tracking",…}.
	Metrics map[string]float64
	Memory
	// Err is what syncJob returned: the queue then tries again. When calls of
	// one batch fail with different errors the controller returns any of them;
	// Err is the first in the order of Calls.
	Err   error
	Panic any // what syncJob panicked with; the rest is what happened before
}

// A Call is one write.
type Call struct {
	Kind   Kind
	Pod    string             // its name; for Create the name that the server gave it; or that of the Workload or PodGroup
	Object *corev1.Pod        // Create: the pod as it was sent, without a name
	Patch  []byte             // Adopt, Release, StripToDelete, Strip: the strategic merge patch
	Status *batchv1.JobStatus // WriteStatus
	Err    error              // the server's answer
}

// A Kind says what a call is for.
type Kind string

// The kinds of calls, in the order in which a sync sends them. The two before
// Delete exclude Create.
const (
	Adopt         Kind = "adopt"           // add the owner reference and the finalizer
	Release       Kind = "release"         // remove both, the selector no longer matches
	StripToDelete Kind = "strip to delete" // remove the finalizer so that the deletion does not count
	Delete        Kind = "delete"
	Create        Kind = "create"
	WriteStatus   Kind = "write status"
	Strip         Kind = "strip" // remove the finalizer of a pod that is accounted for
	// With the gate WorkloadWithJob on, these come first.
	CreateWorkload Kind = "create workload"
	CreatePodGroup Kind = "create pod group"
)

// An Event is an event about the Job.
type Event struct {
	Type, Reason, Message string
}

// Done returns the names of the pods of the calls of one kind that succeeded.
func (o Output) Done(kind Kind) []string {
	var names []string
	for _, c := range o.Calls {
		if c.Kind == kind && c.Err == nil {
			names = append(names, c.Pod)
		}
	}
	return names
}

// Created returns the pods that were created, as they were sent.
func (o Output) Created() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, c := range o.Calls {
		if c.Kind == Create && c.Err == nil {
			pods = append(pods, c.Object)
		}
	}
	return pods
}

// Statuses returns the statuses that were stored.
func (o Output) Statuses() []*batchv1.JobStatus {
	var statuses []*batchv1.JobStatus
	for _, c := range o.Calls {
		if c.Kind == WriteStatus && c.Err == nil {
			statuses = append(statuses, c.Status)
		}
	}
	return statuses
}
