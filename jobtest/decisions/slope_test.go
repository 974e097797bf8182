package decisions

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/tracking"
)

// The cost grows at most in proportion to the input. .ci/slope runs each BenchmarkSlope_*
// with 1,000 items and with 10,000, and compares the statements that were executed.

var sizes = []int{1000, 10_000}

// withSidecars adds n finished sidecars to a pod.
func withSidecars(pod *corev1.Pod, n int) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	for i := range n {
		name := fmt.Sprintf("sidecar-%d", i)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, RestartPolicy: &always})
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: name, RestartCount: int32(i),
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: pod.CreationTimestamp}},
		})
	}
	return pod
}

func BenchmarkSlope_sidecarsOfAFailedPod(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pod := withSidecars(decidetest.PodIn(decidetest.SpecJob(b, "completions: 1"), 1, corev1.PodFailed), n)
			for b.Loop() {
				backoff.FinishTime(pod)
			}
		})
	}
}

func BenchmarkSlope_sidecarsOfASurplusPod(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			job := decidetest.SpecJob(b, "completions: 1\nparallelism: 1")
			s := jobfate.Snapshot{Job: job, Now: jobtest.Noon()}
			for i := range 2 {
				pod := withSidecars(decidetest.PodIn(job, 1, corev1.PodRunning), n)
				pod.UID = types.UID(fmt.Sprint(i))
				s.Pods = append(s.Pods, pod)
			}
			for b.Loop() {
				if d := decidetest.MustDecide(b, s); len(d.Delete) != 1 {
					b.Fatalf("%d pods to delete, want 1", len(d.Delete))
				}
			}
		})
	}
}

// similarUIDs returns pods whose UIDs collide under a fixed, public hash function: its state
// after these eight bytes does not depend on what precedes them.
func similarUIDs(n int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = &corev1.Pod{}
		pods[i].UID = types.UID(fmt.Sprintf("%08x%s-", i, "\x2f\x64\xbd\x78\x64\x1d\x76\xa0"))
	}
	return pods
}

func BenchmarkSlope_uids(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pods := similarUIDs(n)
			for b.Loop() {
				if !census.New(&tracking.Classifier{}, n).Read(pods) {
					b.Fatal("two pods have the same UID")
				}
			}
		})
	}
}

func BenchmarkSlope_failedPods(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for s := largeJob(n, false, failedJustNow); b.Loop(); {
				decidetest.MustDecide(b, s)
			}
		})
	}
}

func BenchmarkSlope_failedIndexes(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for s := largeJob(n, true, failedJustNow); b.Loop(); {
				decidetest.MustDecide(b, s)
			}
		})
	}
}

// largeTemplate returns a Job of n pods with a template of about a megabyte.
func largeTemplate(t testing.TB, n int32) jobfate.Snapshot {
	job := decidetest.SpecJob(t, fmt.Sprintf("completions: %d\nparallelism: %d", n, n))
	var env []corev1.EnvVar
	for i := range 20_000 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "value"})
	}
	job.Spec.Template.Spec.Containers[0].Env = env
	return jobfate.Snapshot{Job: job, Now: jobtest.Noon()}
}

// A decision copies the template once, regardless of the number of pods to create.
// Creation.Pod makes a pod each time it is called.
func TestCreations_areMadeWhenNeeded(t *testing.T) {
	bytes := func(n int32) uint64 {
		s := largeTemplate(t, n)
		_, bytes := allocated(func() { decidetest.MustDecide(t, s) })
		return bytes
	}
	one, many := bytes(1), bytes(500)
	if many > 2*one {
		t.Errorf("500 creations take %d bytes, one takes %d", many, one)
	}
	s := largeTemplate(t, 2)
	d := decidetest.MustDecide(t, s)
	s.Job.Spec.Template.Spec.Containers[0].Env[0].Value = "changed later"
	a, b := d.Create[0].Pod(), d.Create[0].Pod()
	a.Spec.Containers[0].Env[1].Value, a.Labels["mine"], a.Finalizers[0] = "changed", "yes", "other"
	if got := b.Spec.Containers[0].Env[0].Value; got != "value" {
		t.Errorf("the pod has the variable %q, want the one that the template had at the decision", got)
	}
	if b.Spec.Containers[0].Env[1].Value != "value" || b.Labels["mine"] != "" || b.Finalizers[0] == "other" {
		t.Error("two pods of one Creation share memory")
	}
	if got := (jobfate.Creation{}).Pod(); got != nil {
		t.Errorf("the zero Creation makes %v, want nil", got)
	}
}
