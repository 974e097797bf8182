package defaulting_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/validation/defaulting"
)

// Prepared shows what the API server makes of a manifest. The manifest stays as it is.
func ExamplePrepared() {
	manifest := &batchv1.Job{}
	manifest.Namespace, manifest.GenerateName, manifest.UID = "default", "pi-", "a-uid"
	job := defaulting.Prepared(manifest)
	fmt.Println(job.Name, *job.Spec.BackoffLimit, job.Spec.Selector.MatchLabels)
	fmt.Println(manifest.Spec.Selector)

	// One step after the other:
	fmt.Println(defaulting.WithGeneratedName(manifest).Name)
	fmt.Println(*defaulting.Job(manifest).Spec.Parallelism)
	fmt.Println(defaulting.WithGeneratedSelector(manifest).Spec.Selector.MatchLabels)
	// Output:
	// pi-xxxxx 6 map[batch.kubernetes.io/controller-uid:a-uid]
	// nil
	// pi-xxxxx
	// 1
	// map[batch.kubernetes.io/controller-uid:a-uid]
}
