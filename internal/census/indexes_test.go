package census

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// An index whose pod goes is vacant, and those of the pods beside it are not.
func TestVacant_betweenPods(t *testing.T) {
	c, _ := censusOf(t, largeJob(5), classify.Options{}, Pod("a", Index("2")), Pod("b", Index("3")), Pod("c", Index("4")))
	before := c.Vacancies()
	c.Remove("b")
	Same(t, "vacant", c.Vacancies(), before+1)
	Same(t, "an inconsistency", c.Check(), nil)
}

// The chunks of a set lie side by side in the slice that it was made from. Items that are added to one do not overwrite
// the next.
func TestOrdered_insertBetweenChunks(t *testing.T) {
	var items []int
	for i := range 3 * mostItems {
		items = append(items, 2*i)
	}
	set := newOrdered(func(a, b int) int { return a - b }, slices.Clone(items))
	for _, at := range []int{mostItems, 3, 2*mostItems - 1, 5 * mostItems} {
		set.insert(at | 1)
		items = append(items, at|1)
	}
	slices.Sort(items)
	Same(t, "items", slices.Collect(set.all()), items)
}

// Restarts follow a pod that is otherwise as before, and those of a lost pod do not count.
func TestRestarts_ofNewVersions(t *testing.T) {
	restarted := func(n int32) Edit {
		return func(pod *corev1.Pod) { pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}} }
	}
	job := NewJob()
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	lost := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Spec.NodeName = new(After(0)), "node" }
	c, _ := censusOf(t, job, classify.Options{LostAfter: time.Second, Now: After(5).Time}, Pod("a", restarted(2)), Pod("b", restarted(3), lost))
	Same(t, "restarts", c.Restarts, int64(2))
	c.Add(Pod("a", restarted(4)), classify.Owned)
	Same(t, "restarts of the new version", c.Restarts, int64(4))
}

// The time until a pod is lost ends with the pod, and a clock that goes back brings it back.
func TestUntilLost_again(t *testing.T) {
	of := func(now int) *classify.Classifier {
		c := Must(classify.Of(NewJob(), tracking.Keys{}.WithDefaults(), classify.Options{LostAfter: 10 * time.Second, Now: After(now).Time}))
		return &c
	}
	deleted := func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Spec.NodeName = new(After(0)), "node" }
	c := New(of(4), 0)
	c.Add(Pod("a", deleted), classify.Owned)
	for _, step := range []struct {
		now    int
		failed int32
		wait   time.Duration
	}{{4, 0, 6 * time.Second}, {10, 1, 0}, {7, 0, 3 * time.Second}} {
		c.SetClassifier(of(step.now))
		Same(t, "lost, and the time until then", []any{c.Of("a").Lost, c.UntilLost}, []any{step.failed == 1, step.wait})
	}
	c.Remove("a")
	c.SetClassifier(of(8))
	Same(t, "the time without the pod", c.UntilLost, 0)
}

// Pods that come after a census has become sparse do not make it dense, and a record that was dropped holds no pod.
func TestIsSparse_afterAnotherPod(t *testing.T) {
	c, _ := censusOf(t, NewJob(), classify.Options{}, somePods(100)...)
	first := c.Of("pod-0")
	for _, pod := range somePods(90) {
		c.drop(c.Of(pod.UID))
	}
	c.Add(Pod("another"), classify.Owned)
	Same(t, "sparse", c.IsSparse(), true)
	Same(t, "the pod of a dropped record", first.Pod, nil)
}
