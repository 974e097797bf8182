package cluster_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// What would this Job do if index 1 always exited with 42?
func ExampleCluster() {
	three, one, indexed := int32(3), int32(1), batchv1.IndexedCompletion
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &three, Parallelism: &three, CompletionMode: &indexed, BackoffLimitPerIndex: &one,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "image"}}}},
	}}
	start := time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)
	c, err := cluster.New(job, start)
	if err != nil {
		fmt.Println(err)
		return
	}
	caller, cache := cluster.NewCaller(), c.NewCache(true)
	for c.Job().Status.CompletionTime == nil && c.Now.Sub(start) < time.Minute {
		out := c.Run(caller, cache)
		for _, pod := range c.Pods() {
			code := int32(0)
			if pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "1" {
				code = 42
			}
			c.End(pod.UID, code)
		}
		c.Now = c.Now.Add(max(out.After, time.Second))
	}
	st := c.Job().Status
	fmt.Printf("completed %s, failed %s, %d pods\n", st.CompletedIndexes, *st.FailedIndexes, len(c.Pods()))
	fmt.Println(st.Conditions[len(st.Conditions)-1].Message)
	// Output:
	// completed 0,2, failed 1, 4 pods
	// Job has failed indexes
}
