package decisions

import (
	"fmt"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/indexset"
)

// thirds returns a Job of 3n indexes: of each three, one has completed, one has failed and one backs off.
func thirds(n int) (jobfate.View, []*corev1.Pod) {
	s := largeJob(3*n, true, failedJustNow)
	var completed, failed indexset.Builder
	var pods []*corev1.Pod
	for _, pod := range s.Pods {
		i, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		switch i % 3 {
		case 0:
			completed.Add(int32(i))
		case 1:
			failed.Add(int32(i))
		default:
			pods = append(pods, pod)
		}
	}
	status := &s.Job.Status
	status.Active, status.Succeeded, status.Failed = 0, int32(n), int32(n)
	status.CompletedIndexes = completed.Set().String()
	*status.FailedIndexes = failed.Set().String()
	return jobfate.View{Job: s.Job, Now: s.Now, JobsVersion: "9", PodsVersion: "9", Barrier: "1"}, pods
}

// "A Machine that is fed: microseconds, whatever the number of pods" (docs/performance.md).
func BenchmarkEvent_failedIndexes(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			view, pods := thirds(n)
			states := [2]*corev1.Pod{pods[0], pods[0].DeepCopy()}
			m := jobfate.NewMachine()
			sync := func() {
				if err := m.Begin(view); err != nil {
					b.Fatal(err)
				}
				if requests := m.Next(); len(requests) > 0 {
					b.Fatalf("got the request to %s, want none", requests[0].Verb)
				}
			}
			view.Pods = pods
			sync()
			view.Pods, view.Fed = nil, true
			for at := 0; b.Loop(); at++ {
				m.Feed("", states[(at+1)%2])
				sync()
			}
		})
	}
}
