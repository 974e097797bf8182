package chaos_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/chaos"
	"github.com/jobfate/jobfate/jobtest/cluster"
)

// naive is a simple controller. It counts the failed pods that it sees, each time that it
// sees them.
type naive struct{}

func (naive) Sync(client *cluster.Client) (time.Duration, error) {
	job := client.Job
	if job == nil || job.Status.CompletionTime != nil || *job.Spec.Suspend {
		return 0, nil
	}
	next := job.DeepCopy()
	st := &next.Status
	st.Active, st.Ready, st.Terminating = 0, new(int32), new(int32)
	if st.StartTime == nil {
		st.StartTime = &metav1.Time{Time: client.Now}
	}
	for _, pod := range client.Pods {
		switch {
		case !metav1.IsControlledBy(pod, job):
		case pod.Status.Phase == corev1.PodFailed:
			st.Failed++
		case pod.Status.Phase == corev1.PodSucceeded:
			st.Succeeded++
		case pod.DeletionTimestamp == nil:
			st.Active++
		}
	}
	if st.Active < *job.Spec.Parallelism && st.Succeeded == 0 {
		pod := &corev1.Pod{Spec: job.Spec.Template.Spec}
		pod.Namespace, pod.GenerateName = job.Namespace, job.Name+"-"
		pod.Labels = job.Spec.Template.Labels
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
		if _, err := client.CreatePod(pod); err != nil {
			return 0, err
		}
		st.Active++
	}
	_, err := client.UpdateStatus(next)
	return time.Second, err
}

// Run tests a controller and describes the first violation from its beginning. Here a pod
// is counted, but neither the status nor the pod records that. The next sync would count it
// again.
func ExampleRun() {
	report := chaos.Run(chaos.Config{
		Seed:       10,
		Job:        podtest.PlainJob("job"),
		Controller: func() cluster.Controller { return naive{} },
	})
	fmt.Println(report.Story)
	// Output:
	// S1, each pod is counted once: succeeded is 1 with 0 uncounted, but 0 pods were recorded
	// seed 10. To run it again:
	//   chaos.Run(chaos.Config{Seed: 10, ...}), with the Job and the controller of this run
	//   2  12:00:00.413  sync
	//      controller 1 sees job-1 with status {}, and no pods
	//        creates pod-1 Pending of job-1
	//        stores the status {"active":1,"terminating":0,"ready":0}
	//      it will sync again after 1s
	//   3  12:00:00.413  pod exits 0
	//      pod-1 Pending of job-1 -> Succeeded(0) of job-1
	//   9  12:00:00.413  sync
	//      controller 1 sees job-1 with status {"active":1,"terminating":0,"ready":0}, and:
	//        pod-1 Succeeded(0) of job-1
	//        stores the status {"succeeded":1,"terminating":0,"ready":0}
	//        => this violates S1
	//      it will sync again after 1s
	// at the end:
	//   job-1 {"parallelism":1,"completions":1,"backoffLimit":6,"completionMode":"NonIndexed","suspend":false,"podReplacementPolicy":"TerminatingOrFailed"} restartPolicy Never
	//   status {"succeeded":1,"terminating":0,"ready":0}
	//   pod-1 Succeeded(0) of job-1
}
