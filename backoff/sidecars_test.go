package backoff_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	. "github.com/jobfate/jobfate/internal/podtest"
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

// The oracle compares each status with each container.
func TestRandom_sidecars(t *testing.T) {
	always, other := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicy("Other")
	names := rapid.SampledFrom([]string{"", "a", "b", "c"})
	rapid.Check(t, func(t *rapid.T) {
		pod := &corev1.Pod{}
		for range rapid.IntRange(0, 4).Draw(t, "containers") {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
				Name:          names.Draw(t, "name"),
				RestartPolicy: rapid.SampledFrom([]*corev1.ContainerRestartPolicy{nil, &always, &other}).Draw(t, "restart policy"),
			})
		}
		var want, got []int32
		for i := range rapid.IntRange(0, 5).Draw(t, "statuses") {
			status := corev1.ContainerStatus{Name: names.Draw(t, "name"), RestartCount: int32(i)}
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status)
			if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
				return c.Name == status.Name && c.RestartPolicy != nil && *c.RestartPolicy == always
			}) {
				want = append(want, status.RestartCount)
			}
		}
		for status := range backoff.Sidecars(pod) {
			got = append(got, status.RestartCount)
		}
		Same(t, "statuses", got, want)
		for range backoff.Sidecars(pod) {
			break // must not panic
		}
	})
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
