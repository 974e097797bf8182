package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
)

// A created pod is complete: it has its owner reference, its index and its finalizer.
func TestActions_createdPod(t *testing.T) {
	job := specJob(t, `
completions: 2
completionMode: Indexed
backoffLimitPerIndex: 1
template:
  metadata:
    labels: {app: x}
    annotations: {note: z}
    finalizers: [example.com/own]
  spec:
    restartPolicy: Never
    initContainers: [{name: init}]
    containers: [{name: main}, {name: knows, env: [{name: OTHER}, {name: JOB_COMPLETION_INDEX, value: own}]}, {name: other, env: [{name: OTHER}]}]`)
	d := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}))
	got := d.Create[0]
	fromLabel := []corev1.EnvVar{{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		FieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']",
	}}}}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "job-0-",
			Namespace:    "ns",
			Labels: map[string]string{
				"app": "x", "batch.kubernetes.io/controller-uid": "job-1", "batch.kubernetes.io/job-name": "job",
				"controller-uid": "job-1", "job-name": "job", "batch.kubernetes.io/job-completion-index": "0",
			},
			Annotations: map[string]string{
				"note": "z", "batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-index-failure-count": "0",
			},
			Finalizers:      []string{"example.com/own", "batch.kubernetes.io/job-tracking"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-1", Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:  corev1.RestartPolicyNever,
			Hostname:       "job-0",
			InitContainers: []corev1.Container{{Name: "init", Env: fromLabel}},
			Containers: []corev1.Container{
				{Name: "main", Env: fromLabel},
				{Name: "knows", Env: []corev1.EnvVar{{Name: "OTHER"}, {Name: "JOB_COMPLETION_INDEX", Value: "own"}}},
				{Name: "other", Env: append([]corev1.EnvVar{{Name: "OTHER"}}, fromLabel...)},
			},
		},
	}
	if diff := cmp.Diff(want, got.Pod()); diff != "" || got.Index != 0 || got.Replaces != nil {
		t.Errorf("index %d, replaces %v, the pod (-want +got):\n%s", got.Index, got.Replaces, diff)
	}
	// If the template has the finalizer already, it is not added twice.
	job.Spec.Template.Finalizers = []string{batchv1.JobTrackingFinalizer}
	d = Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}))
	Same(t, "finalizers", len(d.Create[0].Pod().Finalizers), 1)
}

// A pod of a NonIndexed Job has no index. If a Job has its own selector, its pods have only
// the labels of the template.
func TestActions_createdPodOfAPlainJob(t *testing.T) {
	job := specJob(t, "completions: 1\ntemplate: {metadata: {labels: {app: x}}, spec: {restartPolicy: Never, containers: [{name: main}]}}")
	job.Spec.ManualSelector, job.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	job.Spec.Template.Labels = map[string]string{"app": "x"}
	pod := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()})).Create[0].Pod()
	Same(t, "the labels", pod.Labels, map[string]string{"app": "x"})
	if len(pod.Annotations) != 0 || len(pod.Spec.Containers[0].Env) != 0 || pod.Spec.Hostname != "" {
		t.Errorf("annotations %v, environment %v, hostname %q; want none", pod.Annotations, pod.Spec.Containers[0].Env, pod.Spec.Hostname)
	}
}

// Generated names: the API server keeps 58 characters of the prefix. The dash is omitted if
// the API server would reject the name with it.
func TestActions_names(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, test := range []struct{ name, mode, want string }{
		{"job", "NonIndexed", "job-"},
		{"job", "Indexed", "job-0-"},
		{long, "NonIndexed", long + "-"},
		{long, "Indexed", strings.Repeat("x", 55) + "-0-"},
		{"Upper", "NonIndexed", "Upper"},
		{"with.dot", "Indexed", "with.dot-0-"},
	} {
		job := specJob(t, "completions: 1\ncompletionMode: "+test.mode)
		job.Name = test.name
		d := Must(decide.Job(decide.Snapshot{Job: job, Now: jobtest.Noon()}))
		Same(t, fmt.Sprintf("%s of %s", test.mode, test.name), d.Create[0].Pod().GenerateName, test.want)
	}
}
