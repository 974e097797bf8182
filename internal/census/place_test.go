package census_test

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// A new version of a pod takes the place of the old one in everything that the census has counted.
func TestPut_newVersion(t *testing.T) {
	renamed := func(pod *corev1.Pod) { pod.Name = "new" }
	indexed, completions := batchv1.IndexedCompletion, int32(20)
	for name, versions := range map[string][2][]Edit{
		"active":                  {{Index("0")}, {Index("0")}},
		"of another index":        {{Index("0")}, {Index("1")}},
		"failed later":            {{Index("0"), Exit(1, After(1))}, {Index("0"), Exit(1, After(9))}},
		"succeeded later":         {{Index("0"), Exit(0, After(1))}, {Index("0"), Exit(0, After(9))}},
		"failed, then no more":    {{Index("0"), Exit(1, After(1))}, {Index("0")}},
		"under another name":      {{Index("0")}, {Index("0"), renamed}},
		"failed, of another name": {{Index("0"), Failed}, {Index("0"), Failed, renamed}},
		"without its finalizer":   {{Index("0"), Failed}, {Index("0"), Failed, Released}},
	} {
		for _, limit := range []*int32{nil, new(int32(3))} {
			job := NewJob()
			job.Spec.CompletionMode, job.Spec.Completions, job.Spec.BackoffLimitPerIndex = &indexed, &completions, limit
			c := newCensus(classifierOf(job), 0)
			for i := range 10 { // a census with few pods has no maps
				c.Put(Pod(fmt.Sprint("other-", i), Index(fmt.Sprint(i+5)), Exit(1, After(2))))
			}
			c.Put(Pod("a", versions[0]...))
			c.PutNamed("absent", nil)
			c.ActiveInOrder()
			c.TrackedInOrder()
			c.BackoffChange(false)
			c.Vacancies()
			next := Pod("a", versions[1]...)
			c.Put(next)
			Same(t, fmt.Sprintf("%s, limit per index %t", name, limit != nil), c.Check(), nil)
			if got := c.Of("a").Pod; got != next {
				t.Errorf("%s: got %v, want the new version", name, got)
			}
			if c.PutNamed(next.Name, nil); c.Of("a") != nil {
				t.Errorf("%s: the pod is not found by its name %s", name, next.Name)
			}
		}
	}
}

// When a failed pod goes, the failed pod that is left of its index takes its place, and none of another index.
func TestRemove_oneOfTwoFailures(t *testing.T) {
	pods := []*corev1.Pod{
		Pod("a", Failed, Index("0"), Failures("0")), Pod("b", Failed, Index("0"), Failures("1")),
		Pod("c", Failed, Index("3"), Failures("0")),
	}
	classifier := classify.Classifier{Indexed: true, Completions: 5, Limit: perIndex(3)}
	for _, first := range pods {
		for _, second := range pods {
			c := take(classifier, pods...)
			c.Remove(first.UID)
			c.Remove(second.UID)
			for _, index := range []int32{0, 3} {
				var want *corev1.Pod // the last that is left
				for _, pod := range pods {
					if pod != first && pod != second && (tracking.Keys{}).IndexOf(pod) == index {
						want = pod
					}
				}
				var got *corev1.Pod
				if r := c.Predecessor(index); r != nil {
					got = r.Pod
				}
				Same(t, fmt.Sprintf("the predecessor of index %d without %s and %s", index, first.UID, second.UID), got, want)
			}
		}
	}
}

// A pod that was created under the name of another one replaces it.
func TestPutNamed_anotherPod(t *testing.T) {
	for _, others := range []int{0, 10} { // without and with maps
		c := newCensus(classifierOf(NewJob()), 0)
		for i := range others {
			c.Put(Pod(fmt.Sprint("other-", i)))
		}
		first, second := Pod("first"), Pod("second")
		first.Name, second.Name = "pod", "pod"
		c.PutNamed("pod", first)
		c.PutNamed("pod", second)
		if c.Of("first") != nil || c.Of("second") == nil || c.Len() != others+1 {
			t.Errorf("%d others: the census has %d pods, first: %v, second: %v", others, c.Len(), c.Of("first"), c.Of("second"))
		}
		Same(t, fmt.Sprintf("%d others", others), c.Check(), nil)
	}
}

// UntilLost is the time until the next pod counts as lost; pods that are lost, or never will be, have none.
func TestUntilLost(t *testing.T) {
	deletedAt := func(seconds int, node string) Edit {
		return func(pod *corev1.Pod) { pod.DeletionTimestamp, pod.Spec.NodeName = new(After(seconds)), node }
	}
	next, now, later := Pod("a", deletedAt(12, "n")), Pod("b", deletedAt(10, "n")), Pod("c", deletedAt(15, "n"))
	never := Pod("d", deletedAt(12, ""))
	for _, tc := range []struct {
		pods []*corev1.Pod
		want time.Duration
	}{
		{[]*corev1.Pod{next, now, later, never}, 2 * time.Second}, {[]*corev1.Pod{never}, 0}, {[]*corev1.Pod{now}, 0},
	} {
		of := Must(classify.Of(NewJob(), names, classify.Options{LostAfter: 10 * time.Second, Now: After(20).Time}))
		c := take(of, tc.pods...)
		c.SetClassifier(&of)
		Same(t, "UntilLost", c.UntilLost, tc.want)
	}
}

// PutNamed replaces pods of the Job's namespace only, both without and with the map of
// names.
func TestPutNamed_otherNamespace(t *testing.T) {
	for _, n := range []int{1, 20} {
		mine, elsewhere := Pod("mine"), Pod("elsewhere")
		mine.Name, elsewhere.Name, elsewhere.Namespace = "pod", "pod", "other"
		c := newCensus(classifierOf(NewJob()), 0)
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
