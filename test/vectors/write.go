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
	Status *batchv1.JobStatus `json:"status,omitempty"` // the whole status
}

// Verb is the purpose of a write.
type Verb string

// The verbs.
const (
	Adopt   Verb = "adopt"   // add the owner reference and the finalizer
	Release Verb = "release" // remove the owner reference and the finalizer
	Free    Verb = "free"    // remove the finalizer of a pod that is never counted
	Untrack Verb = "untrack" // remove the finalizer of a pod that is then deleted and does not count
	Delete  Verb = "delete"
	Create  Verb = "create"
	Status  Verb = "status" // write the status of the Job
	Strip   Verb = "strip"  // remove the finalizer of a pod that the status accounts for
)

// Writes collects the writes of a sync. The zero value is empty.
type Writes struct {
	claims, freed, deletions, creations, first, strips, last []Write
}

// Add adds a write after the previous ones.
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

// InOrder returns the writes in the order of a case: the order of the sync. Writes of the same
// kind to several pods have no order in a sync; a case has them in the order of pod names.
func (w *Writes) InOrder() []Write {
	for _, list := range [][]Write{w.claims, w.freed, w.deletions, w.strips} {
		slices.SortStableFunc(list, func(a, b Write) int { return cmp.Compare(a.Pod, b.Pod) })
	}
	return slices.Concat(w.claims, w.freed, w.deletions, w.creations, w.first, w.strips, w.last)
}

// PatchOf returns a patch of a pod without its guards, the UID and the resource version, which
// patches of Kubernetes lack. It is nil if the data is not a patch.
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

// NewPod holds the parts of a pod to create that do not come from the template.
type NewPod struct {
	GenerateName    string                  `json:"generateName"`
	Labels          map[string]string       `json:"labels,omitempty"`
	Annotations     map[string]string       `json:"annotations,omitempty"`
	Finalizers      []string                `json:"finalizers,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
	Hostname        string                  `json:"hostname,omitempty"`
	// Env holds the variables of containers and init containers by the name of the
	// container. Containers without variables are absent.
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

// Normal returns a copy of a status in a normal form: empty lists are nil, and
// UncountedTerminatedPods is always present.
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
