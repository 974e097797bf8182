package machine

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is the kind of a Request.
type Verb uint8

// The verbs. Reads must be live, never from a cache.
const (
	GetJob   Verb = iota + 1
	ListPods      // all pods of the namespace
	GetPod
	CreatePod
	PatchPod
	DeletePod
	PatchStatus
)

var verbNames = [...]string{"", "get the Job", "list the pods", "get pod", "create pod", "patch pod",
	"delete pod", "patch the status"}

// String names the verb.
func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return fmt.Sprintf("Verb(%d)", uint8(v))
}

// Request is a request to the API server, with everything that the call needs. The
// caller owns it.
type Request struct {
	// ID is unique among the requests of a Machine.
	ID        uint64
	Verb      Verb
	Namespace string
	// Name is the name of the Job or the pod; empty for ListPods and CreatePod.
	Name string
	// UID is the UID of the Job or the pod; empty if it is not known.
	UID types.UID
	// Pod is the pod to create.
	Pod *corev1.Pod
	// Patch is a strategic merge patch of a pod, or a JSON merge patch of the
	// status of a Job.
	Patch []byte
	// Options holds the options of DeletePod, with the UID as a precondition.
	Options metav1.DeleteOptions
	// ResourceVersion and Status are for a caller that stores the status elsewhere than in
	// the Job. Status is the whole new status. ResourceVersion is the version that the
	// object with the status must have for the write to succeed. It differs from that of
	// the View after another write of the same sync.
	ResourceVersion string
	Status          *batchv1.JobStatus
}
