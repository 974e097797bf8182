package restart

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Two controllers without leader election run the same Job. Both may create pods before they
// observe those of the other. They delete the surplus, and then create none.
func TestTwoAtOnce(t *testing.T) {
	const jobs, parallelism = 10, 10
	s := newStage(t, jobfate)
	for range 2 {
		c, _ := s.start(limits(5))
		defer c.Kill()
	}
	watch, err := api.Client.CoreV1().Pods(s.namespace).Watch(t.Context(), metav1.ListOptions{})
	s.must(err)
	defer watch.Stop()
	for i := range jobs {
		s.must(s.create(t.Context(), fmt.Sprintf("both-%d", i), parallelism))
	}
	active, most, surplus := map[string]map[string]bool{}, 0, 0
	unchanged := time.NewTimer(patience)
	settled := func() bool {
		for _, pods := range active {
			if len(pods) != parallelism {
				return false
			}
		}
		return len(active) == jobs
	}
	for done := false; !done; {
		select {
		case event, ok := <-watch.ResultChan():
			if !ok {
				t.Fatal("the watch has ended")
			}
			pod := event.Object.(*corev1.Pod)
			job := metav1.GetControllerOf(pod).Name
			if active[job] == nil {
				active[job] = map[string]bool{}
			}
			if pod.DeletionTimestamp != nil || event.Type == "DELETED" {
				if active[job][pod.Name] {
					surplus++
				}
				delete(active[job], pod.Name)
			} else {
				active[job][pod.Name] = true
			}
			most = max(most, len(active[job]))
			if settled() {
				unchanged.Reset(5 * time.Second) // neither acts any more
			} else {
				unchanged.Reset(patience)
			}
		case <-unchanged.C:
			done = true
		}
	}
	if !settled() {
		t.Errorf("the Jobs have the pods %v, want %d each", active, parallelism)
	}
	t.Logf("%d Jobs with parallelism %d: at most %d active pods in one Job, %d surplus pods deleted in all", jobs, parallelism, most, surplus)
}
