package story

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/tracking"
)

// Pod describes a pod on one line.
func Pod(k tracking.Keys, pod *corev1.Pod) string {
	if pod == nil {
		return "nothing"
	}
	words := []string{string(pod.UID)}
	if pod.UID == "" {
		words[0] = "a pod"
	}
	if index, ok := pod.Annotations[k.Index]; ok {
		words = append(words, "index "+index)
	}
	if n, ok := pod.Annotations[k.FailureCount]; ok {
		words = append(words, "failures "+n)
	}
	phase := string(pod.Status.Phase)
	for _, c := range pod.Status.ContainerStatuses {
		if ended := c.State.Terminated; ended != nil {
			phase += "(" + strconv.Itoa(int(ended.ExitCode)) + ")"
		}
		if c.RestartCount > 0 {
			phase += " restarts " + strconv.Itoa(int(c.RestartCount))
		}
	}
	if phase != "" {
		words = append(words, phase)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			words = append(words, "disrupted")
		}
	}
	if pod.DeletionTimestamp != nil {
		words = append(words, "deleted")
	}
	if k.HasFinalizer(pod) {
		words = append(words, "tracked")
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		words = append(words, "of "+string(owner.UID))
	}
	return strings.Join(words, " ")
}

// Status describes a status without its times and messages.
func Status(st *batchv1.JobStatus) string {
	short := *st
	short.Conditions, short.StartTime, short.CompletionTime = nil, nil, nil
	text, _ := json.Marshal(&short) // a status always encodes
	line := string(text)
	for _, c := range st.Conditions {
		line += " " + string(c.Type)
		if c.Status != corev1.ConditionTrue {
			line += "=" + string(c.Status)
		}
		if c.Reason != "" {
			line += "(" + c.Reason + ")"
		}
	}
	return line
}

// Spec describes the fields of a spec that matter here.
func Spec(job *batchv1.Job) string {
	short := job.Spec
	short.Template, short.Selector, short.ManualSelector = corev1.PodTemplateSpec{}, nil, nil
	text, _ := json.Marshal(&short) // a spec always encodes
	line := strings.Replace(string(text), `"template":{"metadata":{},"spec":{"containers":null}},`, "", 1)
	if job.DeletionTimestamp != nil {
		line += " deleted"
	}
	return string(job.UID) + " " + line + " restartPolicy " + string(job.Spec.Template.Spec.RestartPolicy)
}

// Change describes what another client has changed in a Job.
func Change(old, now *batchv1.Job) string {
	var was, is map[string]json.RawMessage
	for job, fields := range map[*batchv1.Job]*map[string]json.RawMessage{old: &was, now: &is} {
		text, _ := json.Marshal(job.Spec) // a spec always encodes,
		_ = json.Unmarshal(text, fields)  // and what was encoded decodes
	}
	var changes []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if before := string(was[name]); before != string(is[name]) {
			changes = append(changes, fmt.Sprintf("%s is %s", name, is[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if is[name] == nil {
			changes = append(changes, name+" is unset")
		}
	}
	if old.DeletionTimestamp == nil && now.DeletionTimestamp != nil {
		changes = append(changes, "it is being deleted")
	}
	if text := Status(&now.Status); text != Status(&old.Status) {
		changes = append(changes, "its status is "+text)
	}
	return strings.Join(changes, ", ")
}

// Request describes a request.
func Request(k tracking.Keys, q *cluster.Request) string {
	of := string(q.UID)
	if of == "" {
		of = q.Name
	}
	switch {
	case q.Verb == cluster.Create:
		return "create " + Pod(k, q.Pod)
	case q.Verb == cluster.Delete:
		return "delete " + of
	case q.Verb == cluster.Get:
		return "read the Job live"
	case q.Verb == cluster.ListJobs:
		return "list the Jobs live"
	case q.Verb == cluster.List:
		return "list the pods live"
	case q.Verb == cluster.GetPod:
		return "read " + of + " live"
	case q.Verb == cluster.Status:
		return "store the status"
	case RemovesFinalizer(q):
		return "remove the finalizer of " + of
	}
	return fmt.Sprintf("patch %s with %s", of, q.Patch)
}

// RemovesFinalizer reports whether a request only removes the finalizer of a pod.
func RemovesFinalizer(q *cluster.Request) bool {
	return q.Edit == nil && strings.Contains(string(q.Patch), `"$deleteFromPrimitiveList/finalizers":`) &&
		!strings.Contains(string(q.Patch), "ownerReferences")
}
