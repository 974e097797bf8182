package explore_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/explore"
)

// A search finds no violation of the reference caller, which may be killed at every write. It finds
// a violation of a caller that loses its requeue.
func ExampleSearch() {
	one, never := int32(1), corev1.RestartPolicyNever
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &one, Parallelism: &one, BackoffLimit: &one,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: never, Containers: []corev1.Container{{Name: "main", Image: "image"}}}},
	}}
	config := explore.Config{
		Job: job, Pods: 2, Codes: []int32{0, 1},
		Faults: 1, Kinds: []explore.Kind{explore.KillBefore, explore.KillAfter},
	}
	r, err := explore.Search(config)
	fmt.Println("every state seen:", r.Complete, err, "- found:", r.Found)

	config.New = func() explore.Searchable {
		return sleepy{explore.FromCaller(jobtest.NewCaller())}
	}
	r, err = explore.Search(config)
	fmt.Println("found:", r.Found.Violation.Property, err)

	// Output:
	// every state seen: true <nil> - found: <nil>
	// found: L5 <nil>
}

// sleepy never requeues a Job.
type sleepy struct{ explore.Searchable }

func (s sleepy) Clone() explore.Searchable { return sleepy{s.Searchable.Clone()} }

func (s sleepy) Sync(client *cluster.Client) (time.Duration, error) {
	_, err := s.Searchable.Sync(client)
	return 0, err
}
