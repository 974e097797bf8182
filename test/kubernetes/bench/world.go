package main

import (
	"cmp"
	"fmt"
	"math/rand"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// A jobState is a state of a large Job.
type jobState struct {
	name string
	pod  func(index int, pod *corev1.Pod)
}

var (
	running    = jobState{"running", func(int, *corev1.Pod) {}}
	backingOff = jobState{"failed and backing off", failedJustNow}
	half       = jobState{"half succeeded, to be counted", halfSucceeded}
)

// A world is a Job and its pods.
type world struct {
	job  *batchv1.Job
	pods []*corev1.Pod
}

// newWorld makes an Indexed Job with n completions and n pods. The pods are laid out as in the cache
// of a client: each is decoded on its own, so pods share no strings, and their order in memory is
// not the order of the list.
func newWorld(s jobState, n int) *world {
	w := &world{job: newJob(n), pods: make([]*corev1.Pod, n)}
	for _, i := range rand.New(rand.NewSource(1)).Perm(n) {
		pod := newPod(w.job, i)
		s.pod(i, pod)
		data, err := pod.Marshal()
		w.pods[i] = new(corev1.Pod)
		if err := cmp.Or(err, w.pods[i].Unmarshal(data)); err != nil {
			panic(err) // all of these pods can be encoded
		}
	}
	w.job.Status.Active = int32(n)
	rand.New(rand.NewSource(2)).Shuffle(n, func(i, j int) { w.pods[i], w.pods[j] = w.pods[j], w.pods[i] })
	return w
}

const (
	namespace = "default"
	jobUID    = "0a1b2c3d-0000-4000-8000-000000000001"
)

func newJob(n int) *batchv1.Job {
	labels := map[string]string{batchv1.ControllerUidLabel: jobUID, batchv1.JobNameLabel: "job"}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "job", UID: jobUID, ResourceVersion: "1"},
		Spec: batchv1.JobSpec{
			Completions: new(int32(n)), Parallelism: new(int32(n)), CompletionMode: new(batchv1.IndexedCompletion),
			BackoffLimit: new(int32(1 << 30)), PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			Suspend:  new(false),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: jobUID}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
			},
		},
		Status: batchv1.JobStatus{
			StartTime: new(metav1.NewTime(now.Add(-time.Hour))), Ready: new(int32), Terminating: new(int32),
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
		},
	}
}

// withLimitPerIndex returns the world with a backoff limit per index, and with the same pods at the
// same addresses.
func (w *world) withLimitPerIndex() *world {
	job := w.job.DeepCopy()
	job.Spec.BackoffLimitPerIndex, job.Status.FailedIndexes = new(int32(1<<30)), new("")
	return &world{job: job, pods: w.pods}
}

// withCompletions returns the world with more completions, and the same pods.
func (w *world) withCompletions(n int32) *world {
	job := w.job.DeepCopy()
	job.Spec.Completions = &n
	return &world{job: job, pods: w.pods}
}

func (w *world) snapshot() decide.Snapshot {
	return decide.Snapshot{Job: w.job, Pods: w.pods, Now: now, Backoff: backoff.Record{Job: w.job.UID}}
}

func (w *world) input() real.Input {
	return real.Input{Job: w.job, Pods: w.pods, Now: now, Memory: real.Memory{Backoff: &real.Record{}}}
}

// newPod returns a running pod with the fields that the controller and the kubelet set.
func newPod(job *batchv1.Job, index int) *corev1.Pod {
	text := strconv.Itoa(index)
	condition := func(t corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "job-" + text + "-abcde", GenerateName: "job-" + text + "-",
			ResourceVersion: "12345",
			UID: types.UID(fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(index)*2654435761,
				index%7919, index)),
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
			Labels: map[string]string{
				batchv1.ControllerUidLabel: jobUID, "controller-uid": jobUID,
				batchv1.JobNameLabel: "job", "job-name": "job", batchv1.JobCompletionIndexAnnotation: text,
			},
			Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: text,
				batchv1.JobIndexFailureCountAnnotation: "0"},
			Finalizers: []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job,
				batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1", RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "registry.example/main:1"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				condition("PodReadyToStartContainers", corev1.ConditionTrue),
				condition(corev1.PodInitialized, corev1.ConditionTrue),
				condition(corev1.PodReady, corev1.ConditionFalse),
				condition(corev1.ContainersReady, corev1.ConditionFalse),
				condition(corev1.PodScheduled, corev1.ConditionTrue),
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Image: "registry.example/main:1",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(
					now.Add(-time.Hour))}}}},
		},
	}
}

func ended(pod *corev1.Pod, phase corev1.PodPhase, code int32, ago time.Duration) {
	pod.Status.Phase = phase
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, FinishedAt: metav1.NewTime(now.Add(-ago)),
	}}
}

func failedJustNow(_ int, pod *corev1.Pod) { ended(pod, corev1.PodFailed, 1, 2*time.Second) }

func halfSucceeded(index int, pod *corev1.Pod) {
	if index%2 == 0 {
		ended(pod, corev1.PodSucceeded, 0, 2*time.Second)
	}
}
