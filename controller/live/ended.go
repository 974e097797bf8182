package live

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/jobfate/jobfate/jobstatus"
)

// Ended waits until a Job is complete or failed, and returns it. It fails the test if that
// takes longer than the timeout. The Job need not exist yet.
func (c *Cluster) Ended(namespace, name string, timeout time.Duration) *batchv1.Job {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), timeout)
	defer cancel()
	last := &batchv1.Job{}
	_, err := watchtools.UntilWithSync(ctx,
		cache.NewListWatchFromClient(c.client.BatchV1().RESTClient(), "jobs", namespace,
			fields.OneTermEqualSelector("metadata.name", name)),
		&batchv1.Job{}, nil, func(e watch.Event) (bool, error) {
			job, ok := e.Object.(*batchv1.Job)
			if ok {
				last = job
			}
			return ok && e.Type != watch.Deleted && jobstatus.Finished(job) != nil, nil
		})
	if err != nil {
		c.t.Fatalf("the Job %s/%s has not ended after %v: %v\n%s", namespace, name, timeout, err, c.describe(last))
	}
	return last
}

// describe describes the progress of a Job.
func (c *Cluster) describe(job *batchv1.Job) string {
	if job.Name == "" {
		return "there is no such Job"
	}
	text := fmt.Sprintf("active %d, succeeded %d, failed %d, conditions %v", job.Status.Active,
		job.Status.Succeeded, job.Status.Failed, job.Status.Conditions)
	pods, err := c.client.CoreV1().Pods(job.Namespace).List(context.WithoutCancel(c.t.Context()), metav1.ListOptions{})
	if err != nil {
		return text
	}
	for _, pod := range pods.Items {
		if !metav1.IsControlledBy(&pod, job) {
			continue
		}
		text += fmt.Sprintf("\npod %s: %s", pod.Name, pod.Status.Phase)
		for _, c := range pod.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				text += fmt.Sprintf(", %s exited with %d", c.Name, t.ExitCode)
			}
		}
	}
	return text
}
