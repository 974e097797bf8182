package jobfate_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
)

// The facts say why no pod is created: the pod that failed at 12:00:30 was the second failure, so
// its replacement waits for 20 s.
func ExampleDecision_Facts() {
	job := trainJob()
	job.Status.Failed = 1
	pod := trainPod(job, corev1.PodFailed)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(noon.Add(30 * time.Second))}}}}

	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: noon.Add(35 * time.Second)}
	s.Backoff.Job, s.Backoff.Failures = job.UID, 1
	d, _ := jobfate.Decide(s)
	f := d.Facts()
	fmt.Println("wanted", f.Want, "active", f.Active, "failed", f.Failed)
	fmt.Println("failures in a row", f.Record.Failures, "wait", f.Wait)
	fmt.Println("the pod counts as failed:", f.Pod(pod.UID).Failed, f.Pod("unknown") == nil)
	// Output:
	// wanted 1 active 0 failed 2
	// failures in a row 2 wait 15s
	// the pod counts as failed: true true
}

// A creation fails: the revised decision counts one active pod less.
func ExampleDecision_Revise() {
	d, _ := jobfate.Decide(jobfate.Snapshot{Job: trainJob(), Now: noon})
	fmt.Println(len(d.Create), "to create, then", d.Status.Active, "active")
	fmt.Println("or", d.Revise(jobfate.Undone{Creations: 1}).Status.Active, "active")
	// Output:
	// 1 to create, then 1 active
	// or 0 active
}

// The deadline of a Job has passed, so its pod is deleted. First the status says that the Job fails.
func ExampleDecision_VerdictFirst() {
	job := trainJob()
	seconds, start := int64(60), metav1.NewTime(noon.Add(-time.Hour))
	job.Spec.ActiveDeadlineSeconds, job.Status.StartTime = &seconds, &start
	s := jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{trainPod(job, corev1.PodRunning)}, Now: noon}
	for range 2 {
		d, _ := jobfate.Decide(s)
		d = d.VerdictFirst()
		fmt.Println("delete:", len(d.Delete), "active:", d.Status.Active, d.Status.Conditions[0].Reason)
		job.Status = *d.Status // stored
	}
	// Output:
	// delete: 0 active: 1 DeadlineExceeded
	// delete: 1 active: 0 DeadlineExceeded
}
