package adopting

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/jobtest/kube"
)

// "New items are added to the queue with a delay (1s for pod events" (KEP-3850 § Too fast Job status
// updates): pods that end within a second take as many status writes as pods that end together.
func TestPodEventsAreBatched(t *testing.T) {
	for name, run := range starts {
		t.Run(name, func(t *testing.T) {
			together, spread := statusWrites(t, run, 0), statusWrites(t, run, 100*time.Millisecond)
			if spread != together || together == 0 {
				t.Errorf("%d status writes for pods that end within a second, %d for pods that end together", spread, together)
			}
		})
	}
}

// statusWrites returns how many status writes a Job takes from the end of its first pod, if a pod
// ends after each pause.
func statusWrites(t *testing.T, run start, pause time.Duration) (writes int) {
	synctest.Test(t, func(t *testing.T) {
		job := newJob()
		job.Spec.Parallelism = job.Spec.Completions
		s, _ := serve(t, 0, job)
		defer begin(s, run)()
		kubelet := kube.Kubelet{Server: s}
		time.Sleep(time.Minute)
		pods := kube.List[*corev1.Pod](s, "default")
		for _, pod := range pods {
			kubelet.Start("default", pod.Name)
		}
		time.Sleep(time.Minute)
		s.Intercept(func(r *kube.Request) (v kube.Verdict) {
			if r.Subresource == "status" {
				writes++
			}
			return v
		})
		for _, pod := range pods {
			kubelet.End("default", pod.Name, 0)
			time.Sleep(pause)
		}
		time.Sleep(time.Minute)
		checkFinalizers(t, s, 5)
	})
	return writes
}
