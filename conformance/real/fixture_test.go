package real_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
)

var start = time.Date(2023, 8, 21, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func timeAt(seconds int) *metav1.Time {
	t := metav1.NewTime(at(seconds))
	return &t
}

// newJob returns a Job as the API server stores it. The functions change the Job before it is
// stored.
func newJob(t testing.TB, change ...func(*batchv1.JobSpec)) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "job-uid"}}
	job.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "image"}},
	}
	for _, f := range change {
		f(&job.Spec)
	}
	stored, errs := apiserver.Create(job)
	if len(errs) > 0 {
		t.Fatalf("the API server rejects the Job: %v", errs)
	}
	return stored
}

// size sets parallelism and completions.
func size(parallelism, completions int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.Parallelism, s.Completions = &parallelism, &completions }
}

func indexed(s *batchv1.JobSpec) {
	mode := batchv1.IndexedCompletion
	s.CompletionMode = &mode
}

func perIndex(limit int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = &limit }
}

// newPod returns a pod as the controller creates it for the Job. Its UID equals its name.
func newPod(job *batchv1.Job, name string, phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	controls := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: job.Namespace, UID: types.UID(name),
			Labels:      job.Spec.Template.Labels,
			Annotations: map[string]string{},
			Finalizers:  []string{batchv1.JobTrackingFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: &controls,
			}},
			CreationTimestamp: *timeAt(0),
		},
		Spec:   job.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: phase},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

func index(i int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[batchv1.JobCompletionIndexAnnotation] = strconv.Itoa(i) }
}

// failures sets the number of failures of the index before this pod.
func failures(n int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(n) }
}

// exit makes the pod's container exit at a time.
func exit(code int32, seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, FinishedAt: *timeAt(seconds),
			}},
		}}
	}
}

func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// mustSync fails the test if the sync fails.
func mustSync(t *testing.T, in real.Input) real.Output {
	t.Helper()
	out := real.Sync(in)
	if out.Err != nil || out.Panic != nil {
		t.Fatalf("sync: error %v, panic %v", out.Err, out.Panic)
	}
	return out
}

// lastStatus returns the last status that was stored.
func lastStatus(t *testing.T, out real.Output) *batchv1.JobStatus {
	t.Helper()
	statuses := out.Statuses()
	if len(statuses) == 0 {
		t.Fatalf("no status was stored; calls: %s", trace(out))
	}
	return statuses[len(statuses)-1]
}

// conditions lists the conditions that are true, with their reasons.
func conditions(s *batchv1.JobStatus) string {
	var list []string
	for _, c := range s.Conditions {
		if c.Status == corev1.ConditionTrue {
			list = append(list, fmt.Sprintf("%s(%s)", c.Type, c.Reason))
		}
	}
	return strings.Join(list, " ")
}

// trace lists the calls.
func trace(out real.Output) string {
	var lines []string
	for _, c := range out.Calls {
		line := string(c.Kind)
		if c.Pod != "" {
			line += " " + c.Pod
		}
		if c.Err != nil {
			line += " failed"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}
