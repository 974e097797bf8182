package census_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

// PutNamed replaces pods of the Job's namespace only, both without and with the map of
// names.
func TestPutNamed_otherNamespace(t *testing.T) {
	for _, n := range []int{1, 20} {
		mine, elsewhere := Pod("mine"), Pod("elsewhere")
		mine.Name, elsewhere.Name, elsewhere.Namespace = "pod", "pod", "other"
		c := newCensus(classifierOf(t, Job()), 0)
		Same(t, "read", c.Read(clones([]*corev1.Pod{elsewhere}, n)), true)
		for step, pod := range []*corev1.Pod{mine, nil, mine} {
			c.PutNamed("pod", pod)
			want := n
			if pod != nil {
				want++
			}
			Same(t, fmt.Sprintf("pods after step %d, with %d of another namespace", step, n), len(c.Pods()), want)
			Same(t, fmt.Sprintf("step %d: the census has the pod", step), c.Of("mine") != nil, pod != nil)
		}
		c.Put(elsewhere)
		c.Remove("elsewhere")
		c.PutNamed("pod", nil)
		Same(t, "the pod is found without its namesake", c.Of("mine") == nil, true)
	}
}
