package referee_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/referee"
)

// TestQuietLife runs a Job with one failure per index to its end.
func TestQuietLife(t *testing.T) {
	job := &batchv1.Job{}
	job.Spec.Completions, job.Spec.Parallelism = new(int32(3)), new(int32(2))
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	job.Spec.BackoffLimitPerIndex = new(int32(1))
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}
	c, err := cluster.New(job, jobtest.Noon())
	if err != nil {
		t.Fatal(err)
	}
	var ghost referee.Ghost
	ghost.Started(c.Job())
	c.Watch = func(s cluster.Step) {
		if v := (referee.Rules{}).See(&ghost, &s); v != nil {
			t.Error(v)
		}
	}
	caller, cache := jobtest.NewCaller(), c.NewCache(true)
	for range 100 {
		out := c.Run(caller, cache)
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		for _, pod := range c.Pods() {
			if !cluster.HasEnded(pod) {
				code := int32(0)
				if pod.Annotations[batchv1.JobIndexFailureCountAnnotation] == "0" {
					code = 1
				}
				c.End(pod.UID, code)
			}
		}
		c.Now = c.Now.Add(max(out.After, time.Second))
	}
	if got := c.Job().Status; got.Succeeded != 3 || got.Failed != 3 || got.CompletionTime == nil {
		t.Errorf("the Job ends with %+v", got)
	}
}
