package vectors

import (
	"cmp"
	"encoding/json"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Write is a request to the API server, sent whether or not it fails.
type Write struct {
	Verb   Verb               `json:"verb"`
	Pod    string             `json:"pod,omitempty"`    // by name
	Patch  map[string]any     `json:"patch,omitempty"`  // of the pod, without the guards
	New    *NewPod            `json:"new,omitempty"`    // the pod to create
	Status *batchv1.JobStatus `json:"status,omitempty"` // the whole of it
}

// Verb says what a write is for.
type Verb string

// The verbs.
const (
	Adopt   Verb = "adopt"   // add the owner reference and the finalizer
	Release Verb = "release" // remove the owner reference and the finalizer
	Free    Verb = "free"    // remove the finalizer of a pod that is never counted
	Untrack Verb = "untrack" // remove the finalizer of a pod that is then deleted and does not count
	Delete  Verb = "delete"
	Create  Verb = "create"
	Status  Verb = "status" // store the status of the Job
	Strip   Verb = "strip"  // remove the finalizer of a pod that the status accounts for
)

// Writes collects the writes of a sync. The zero value is empty.
type Writes struct {
	claims, freed, deletions, creations, first, strips, last []Write
}

// Add adds a write that follows those before it.
func (w *Writes) Add(write Write) {
	list := &w.strips
	switch write.Verb {
	case Adopt, Release:
		list = &w.claims
	case Free:
		list = &w.freed
	case Untrack, Delete:
		list = &w.deletions
	case Create:
		list = &w.creations
	case Status:
		if list = &w.first; len(w.strips) > 0 {
			list = &w.last
		}
	}
	*list = append(*list, write)
}

// InOrder returns the writes in the order of a case: that of the sync, where writes of
// one kind to several pods have none, by the name of the pod.
func (w *Writes) InOrder() []Write {
	for _, list := range [][]Write{w.claims, w.freed, w.deletions, w.strips} {
		slices.SortStableFunc(list, func(a, b Write) int { return cmp.Compare(a.Pod, b.Pod) })
	}
	return slices.Concat(w.claims, w.freed, w.deletions, w.creations, w.first, w.strips, w.last)
}

// PatchOf returns a patch of a pod without what guards it: the UID and the resource
// version, which Kubernetes does not name. It is nil for what is no patch.
func PatchOf(data []byte) map[string]any {
	var patch map[string]any
	if json.Unmarshal(data, &patch) != nil {
		return nil
	}
	if meta, ok := patch["metadata"].(map[string]any); ok {
		delete(meta, "uid")
		delete(meta, "resourceVersion")
	}
	return patch
}

// NewPod is a pod to create, in so far as it is not the template.
type NewPod struct {
	GenerateName    string                  `json:"generateName"`
	Labels          map[string]string       `json:"labels,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	Finalizers      []string                `json:"finalizers,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Hostname        string                  `json:"hostname,omitempty"`
	// Env are the variables of each container that has any, init containers included,
	// by the name of the container.
	Env map[string][]corev1.EnvVar `json:"env,omitempty"`
}

// NewPodOf returns the parts of a new pod that a case holds.
func NewPodOf(pod *corev1.Pod) *NewPod {
	n := &NewPod{
		GenerateName: pod.GenerateName, Labels: pod.Labels, Annotations: pod.Annotations,
		Finalizers: pod.Finalizers, OwnerReferences: pod.OwnerReferences, Hostname: pod.Spec.Hostname,
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			if len(c.Env) == 0 {
				continue
			}
			if n.Env == nil {
				n.Env = map[string][]corev1.EnvVar{}
			}
			n.Env[c.Name] = c.Env
		}
	}
	return n
}

// Normal returns a copy of a status in which what is empty is absent, the lists of
// uncounted pods aside.
func Normal(status *batchv1.JobStatus) *batchv1.JobStatus {
	st := status.DeepCopy()
	if st.UncountedTerminatedPods == nil {
		st.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	u := st.UncountedTerminatedPods
	if len(u.Succeeded) == 0 {
		u.Succeeded = nil
	}
	if len(u.Failed) == 0 {
		u.Failed = nil
	}
	if len(st.Conditions) == 0 {
		st.Conditions = nil
	}
	return st
}
