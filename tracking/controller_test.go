package tracking_test

import (
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// names holds the keys of Kubernetes.
var names tracking.Keys

func TestManages(t *testing.T) {
	for _, tc := range []struct {
		name      string
		managedBy *string
		want      bool
	}{
		{"", nil, true},
		{"", new("kubernetes.io/job-controller"), true},
		{"", new("example.com/queue"), false},
		{"", new(""), false},
		{"kubernetes.io/job-controller", nil, true},
		{"example.com/queue", nil, false},
		{"example.com/queue", new("example.com/queue"), true},
		{"example.com/queue", new("example.com/other"), false},
	} {
		job := NewJob()
		job.Spec.ManagedBy = tc.managedBy
		Same(t, fmt.Sprintf("%q manages a Job of %v", tc.name, tc.managedBy), (tracking.Controller{Name: tc.name}).Manages(job), tc.want)
	}
}

func TestReference(t *testing.T) {
	Same(t, "reference", tracking.Controller{}.Reference(NewJob()), metav1.OwnerReference{
		APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job-uid", Controller: new(true), BlockOwnerDeletion: new(true),
	})
	own := tracking.Controller{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Run"}}
	Same(t, "own kind", own.Reference(NewJob()).APIVersion+" "+own.Reference(NewJob()).Kind, "example.com/v1 Run")
}

func TestFrees(t *testing.T) {
	run := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Run"}
	job := func(edits ...func(*batchv1.Job)) *batchv1.Job {
		j := NewJob()
		for _, e := range edits {
			e(j)
		}
		return j
	}
	managedBy := func(name string) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Spec.ManagedBy = &name }
	}
	another := func(j *batchv1.Job) { j.UID = "job-uid-2" }
	reference := func(apiVersion, kind string) Edit {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = apiVersion, kind
		}
	}
	for _, tc := range []struct {
		reason     string
		controller tracking.Controller
		pod        *corev1.Pod
		job        *batchv1.Job
		want       bool
	}{
		{"KEP-2307 § Deleted Jobs: the Job doesn't exist", tracking.Controller{}, Pod("a"), nil, true},
		{"nothing to remove", tracking.Controller{}, Pod("a", Released), nil, false},
		{"the Job runs, and the pod must be counted", tracking.Controller{}, Pod("a"), job(), false},
		{"the Job is ending, and the pod must be counted", tracking.Controller{}, Pod("a"), job(Has(batchv1.JobFailureTarget)), false},
		{"the Job is complete", tracking.Controller{}, Pod("a"), job(Has(batchv1.JobComplete)), true},
		{"the Job has failed", tracking.Controller{}, Pod("a"), job(Has(batchv1.JobFailed)), true},
		{"a new Job has the same name", tracking.Controller{}, Pod("a"), job(another), true},
		{"garbage collection removed the reference", tracking.Controller{}, Pod("a", Ownerless), nil, true},
		{"an orphan, although a Job exists", tracking.Controller{}, Pod("a", Ownerless), job(), true},
		{"k#124798: another kind controls it", tracking.Controller{}, Pod("a", reference("example.com/v1", "Run")), nil, false},
		{"k#124798: another Job kind controls it", tracking.Controller{}, Pod("a", reference("example.com/v1", "Job")), nil, false},
		{"the caller's own kind", tracking.Controller{Kind: run}, Pod("a", reference("example.com/v1", "Run")), nil, true},
		{"a batch Job is not the caller's kind", tracking.Controller{Kind: run}, Pod("a"), nil, false},
		{"finished, but managed by another controller", tracking.Controller{}, Pod("a"), job(Has(batchv1.JobFailed), managedBy("example.com/queue")), false},
		{"finished and managed by the caller", tracking.Controller{Name: "example.com/queue"}, Pod("a"), job(Has(batchv1.JobFailed), managedBy("example.com/queue")), true},
		{"finished and managed by the built-in controller", tracking.Controller{Name: "example.com/queue"}, Pod("a"), job(Has(batchv1.JobFailed)), false},
	} {
		Same(t, tc.reason+": Frees", tc.controller.Frees(tc.pod, tc.job), tc.want)
	}
}

// Fields without their defaults caused panics.
func TestLesson_k121147_k122235_nothingPanics(t *testing.T) {
	Same(t, "manages nil", tracking.Controller{}.Manages(nil), false)
	Same(t, "frees nil", tracking.Controller{}.Frees(nil, nil), false)
	Same(t, "index of nil", names.IndexOf(nil), tracking.NoIndex)
	Same(t, "gauge of nil", names.Gauge(nil), false)
	Same(t, "the patch of nil", names.StripPatch(nil), nil)
}

// freesHolds: "It may if no controller is left to count the pod: the pod has no controller, or its
// Job is gone or finished." "The controller does not free a pod that another kind controls, or a
// pod of a Job that another controller manages." KEP-2307 § Monitoring Pods with finalizers: "a gauge that tracks the number
// of terminated pods (.status.phase=(Succeeded|Failed)) that currently have a job tracking finalizer".
func freesHolds(t rapid.TB, job *batchv1.Job, pod *corev1.Pod) {
	t.Helper()
	var ref *metav1.OwnerReference
	if pod != nil {
		ref = metav1.GetControllerOf(pod)
	}
	ours := ref != nil && ref.APIVersion == "batch/v1" && ref.Kind == "Job"
	managed := job.Spec.ManagedBy == nil || *job.Spec.ManagedBy == batchv1.JobControllerName
	finished := IsTrue(job, batchv1.JobComplete, batchv1.JobFailed)
	tracked := pod != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	is := ours && ref.UID == job.UID
	var c tracking.Controller
	Same(t, "Frees", c.Frees(pod, job), tracked && (ref == nil || ours && (!is || managed && finished)))
	Same(t, "Frees without a Job", c.Frees(pod, nil), tracked && (ref == nil || ours))
	Same(t, "Gauge", names.Gauge(pod), tracked && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed))
}

func TestRandom_frees(t *testing.T) {
	anotherKind := func(pod *corev1.Pod) {
		ControlledBy("another")(pod)
		pod.OwnerReferences[1].Kind = "ReplicaSet"
	}
	owners := []Edit{func(*corev1.Pod) {}, Ownerless, ControlledBy("other"), ControlledBy("job-uid"), anotherKind}
	rapid.Check(t, func(t *rapid.T) {
		job, pod := DrawJob(t), DrawPod(t, "a")
		rapid.SampledFrom(owners).Draw(t, "owner")(pod)
		var inputs Inputs
		inputs.AddView(job, []*corev1.Pod{pod})
		freesHolds(t, job, pod)
		Same(t, "the inputs", inputs.Changed(), "")
	})
}
