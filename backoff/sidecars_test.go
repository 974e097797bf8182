package backoff_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
)

func ExampleSidecars() {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		Spec:   corev1.PodSpec{InitContainers: []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}}},
		Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "setup"}, {Name: "proxy", RestartCount: 2}}},
	}
	for status := range backoff.Sidecars(pod) {
		fmt.Println(status.Name, status.RestartCount)
	}
	// Output: proxy 2
}

// A pod that has not started costs nothing, however many sidecars it has.
func TestSidecars_ofNoneDoesNotReadContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{}
	for i := range 10_000 {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: fmt.Sprint(i), RestartPolicy: &always})
	}
	count := testing.AllocsPerRun(5, func() {
		for status := range backoff.Sidecars(pod) {
			t.Errorf("got a status of %s, want none", status.Name)
		}
	})
	if count > 4 {
		t.Errorf("got %.0f allocations, want at most 4", count)
	}
}
