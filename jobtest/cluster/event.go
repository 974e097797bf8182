package cluster

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Event is an action of a controller process or another client, for observers that follow a cluster step by step.
type Event struct {
	Kind EventKind
	// Leader is the process, from 1; 0 for other clients.
	Leader int
	// View is what the caches show when a sync begins. Behind says that its Job is older than one
	// that the process has read or stored.
	View   *View
	Behind bool
	// Request is the request of a Sent, and Answered says that its answer, which is Err or the
	// object, reached the process.
	Request  *Request
	Answered bool
	Err      error
	// Invalid says why the API server refused a status.
	Invalid error
	// OldJob and OldPods are stored before the event. Job is stored after it; Pod is the pod that
	// it has changed, and OldPod the same before. They are nil if they do not exist.
	OldJob, Job *batchv1.Job
	OldPod, Pod *corev1.Pod
	OldPods     []*corev1.Pod
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	Started EventKind = iota // a process has started
	Began                    // a sync begins
	Sent                     // a request was served, refused, or lost
	Ended                    // a sync ends
	Stopped                  // a process has stopped
	Changed                  // another client has changed a Job or a pod
)
