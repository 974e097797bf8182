package route_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/machine/route"
)

// The event handler of pods queues the Jobs that a change concerns.
func ExampleOf() {
	job := Train(1)
	jobs := func(namespace string) []*batchv1.Job { return []*batchv1.Job{job} }

	before, after := PodOf(job, "x7k2p", "6", Phase(corev1.PodRunning)), PodOf(job, "x7k2p", "6", Phase(corev1.PodSucceeded))
	fmt.Println(route.Of(before, after, jobs))

	// No Job is left that could count this pod: it is an orphan.
	orphan := PodOf(job, "x7k2p", "6", Phase(corev1.PodFailed))
	orphan.OwnerReferences = nil
	fmt.Printf("%q\n", route.Of(nil, orphan, func(string) []*batchv1.Job { return nil })[0].Name)
	// Output:
	// [ns/train]
	// ""
}

// The Job of a pod was deleted, and the finalizer blocks the deletion of the pod.
func ExampleOrphansIn() {
	orphan := PodOf(Train(1), "x7k2p", "6", Phase(corev1.PodFailed))
	for _, m := range route.OrphansIn([]*corev1.Pod{orphan}, nil) {
		result := m.Run(func(r machine.Request) (runtime.Object, error) {
			fmt.Println(r.Verb, r.Name)
			return nil, notFound(r)
		})
		fmt.Println("error:", result.Err)
	}
	// Output:
	// get the Job train
	// patch pod train-x7k2p
	// error: <nil>
}

func notFound(r machine.Request) error {
	return apierrors.NewNotFound(batchv1.Resource("jobs"), r.Name)
}
