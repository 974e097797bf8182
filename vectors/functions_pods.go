package vectors

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/tracking"
)

// Orphan is the input of orphan: a pod, and the Job with the name in the controller reference of
// the pod; absent if no such Job exists.
type Orphan struct {
	Pod *corev1.Pod  `json:"pod"`
	Job *batchv1.Job `json:"job,omitempty"`
}

// Frees is the result of orphan: it says whether the finalizer is removed.
type Frees struct {
	Frees bool `json:"frees"`
}

func orphan(in Orphan) Frees { return Frees{tracking.Controller{}.Frees(in.Pod, in.Job)} }

// Change is the input of route: a pod before and after a change, absent if it does not exist then,
// and the Jobs of its namespace.
type Change struct {
	Before *corev1.Pod    `json:"before,omitempty"`
	After  *corev1.Pod    `json:"after,omitempty"`
	Jobs   []*batchv1.Job `json:"jobs,omitempty"`
}

// Route is the result of route: the names of the Jobs that the change concerns; an empty name if it
// leaves an orphan.
type Route struct {
	Jobs []string `json:"jobs,omitempty"`
}

func route(in Change) (out Route) {
	for _, name := range jobfate.RouteOf(in.Before, in.After, func(string) []*batchv1.Job { return in.Jobs }) {
		out.Jobs = append(out.Jobs, name.Name)
	}
	return out
}

// Marks is the input of podIndex.
type Marks struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// Index is the result of podIndex.
type Index struct {
	// Index is absent if the annotation names none, and at most 2147483647.
	Index *int32 `json:"index,omitempty"`
	// Conflict says that the label names another index, or none. Only jobfate checks this.
	Conflict bool `json:"conflict,omitempty"`
}

func podIndex(in Marks) Index {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: in.Annotations, Labels: in.Labels}}
	out := Index{Conflict: tracking.Keys{}.IndexConflict(pod)}
	if index := (tracking.Keys{}).IndexOf(pod); index != tracking.NoIndex {
		out.Index = &index
	}
	return out
}

// OwnKeys is the input of checkKeys: names that replace those of Kubernetes.
type OwnKeys struct {
	Finalizer           string `json:"finalizer,omitempty"`
	Index               string `json:"index,omitempty"`
	IndexVariable       string `json:"indexVariable,omitempty"`
	FailureCount        string `json:"failureCount,omitempty"`
	IgnoredFailureCount string `json:"ignoredFailureCount,omitempty"`
	ControllerUID       string `json:"controllerUID,omitempty"`
	JobName             string `json:"jobName,omitempty"`
}

// WrongKeys is the result of checkKeys.
type WrongKeys struct {
	Wrong []WrongKey `json:"wrong,omitempty"`
}

// WrongKey says why the name of a key is invalid.
type WrongKey struct {
	Key    string `json:"key"`
	Reason string `json:"reason"` // FieldValueInvalid or FieldValueDuplicate
}

func checkKeys(in OwnKeys) (out WrongKeys) {
	for _, err := range tracking.Keys(in).Check(field.NewPath("keys")) {
		out.Wrong = append(out.Wrong, WrongKey{err.Field, string(err.Type)})
	}
	return out
}
