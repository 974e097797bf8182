package simulation_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// How long does it take when the first pod fails?
func ExamplePlay() {
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "image"}},
		}},
	}}
	scenario, err := simulation.ReadScenario([]byte("pods: [{exits: [1, 0], durations: [5s]}]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := simulation.Play(job, scenario, simulation.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.End, "after", result.Took, "with", result.Totals.Pods, "pods")
	// Output: Complete after 23s with 2 pods
}
