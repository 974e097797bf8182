package census_test

import (
	"fmt"
	"maps"
	"math"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func TestRandom_classification(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		c := w.census()
		Same(t, "records", c.Len(), len(w.Pods))
		for _, pod := range w.Pods {
			r := c.Of(pod.UID)
			Same(t, string(pod.UID)+" is", bitsOf(r), w.bits(pod))
			wantIndex := int32(-1)
			if w.Indexed {
				wantIndex = int32(min(index64(pod), math.MaxInt32))
			}
			Same(t, string(pod.UID)+" index", r.Index, wantIndex)
			if w.succeeded(pod) || w.failed(pod) {
				Same(t, string(pod.UID)+" finish", r.Finish(), backoff.FinishTime(pod))
			}
			if w.PerIndex && w.Indexed && w.failed(pod) {
				Same(t, string(pod.UID)+" counts", r.Counts, classify.CountsOf(&names, pod.Annotations))
			}
		}
	})
}

// counters holds the results of a census, except those about indexes.
type counters struct {
	Active, Ready, Terminating, Succeeded, Failed int32
	Restarts                                      int64
	Record                                        backoff.Record
	FailsJob                                      *corev1.Pod
	InOrder                                       []types.UID
}

func countersOf(c *census.Census) counters {
	out := counters{
		Active: c.Active, Ready: c.Ready, Terminating: c.Terminating,
		Succeeded: c.Succeeded, Failed: c.Failed, Restarts: c.Restarts,
		Record: c.BackoffChange(false).With(failedBefore), FailsJob: failsJob(c),
	}
	for _, r := range c.AllInOrder() {
		if r.Finalized {
			out.InOrder = append(out.InOrder, r.Pod.UID)
		}
	}
	return out
}

func (w world) counters() counters {
	count := func(holds ...func(*corev1.Pod) bool) int32 { return int32(len(w.filter(holds...))) }
	ignored := w.does(batchv1.PodFailurePolicyActionIgnore)
	out := counters{
		Active: count(active), Ready: count(ready), Terminating: count(terminating),
		Succeeded: int32(len(w.fresh(w.succeeded))),
		Failed:    int32(len(w.fresh(func(pod *corev1.Pod) bool { return w.failed(pod) && !ignored(pod) }))),
		Record: failedBefore.With(Each(w.fresh(w.succeeded), backoff.FinishTime),
			Each(w.fresh(w.failed), backoff.FinishTime)), // the unrecorded pods added
		InOrder: UIDsOf(w.sorted(w.filter(w.carries))),
	}
	for _, pod := range w.Pods {
		if w.Restarts {
			out.Restarts += backoff.Restarts(pod)
		}
	}
	if matched := w.sorted(w.filter(w.does(batchv1.PodFailurePolicyActionFailJob))); len(matched) > 0 {
		out.FailsJob = matched[0]
	}
	return out
}

func TestRandom_counters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		c := w.census()
		Same(t, "counters", countersOf(c), w.counters())
		// KEP-2307 § Algorithm, step 1: "the sum of" the counter, "the size of" the
		// list, and the finished pods that are not in it.
		listed := len(classify.ReadUncounted(Lists(w.Succeeded, w.Failed)).Listed)
		Same(t, "totals", int(c.SucceededTotal(5)+c.FailedTotal(7)), 12+listed+int(c.Succeeded+c.Failed))
	})
}

// drawSet draws some of the indexes.
func drawSet(t *rapid.T, label string) indexset.Set {
	return indexset.Of(rapid.SliceOfN(rapid.Int32Range(0, 8), 0, 3).Draw(t, label)...)
}

func asMap(s indexset.Set) map[int64]bool {
	set := map[int64]bool{}
	for i := range s.All() {
		set[int64(i)] = true
	}
	return set
}

func TestRandom_indexResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Indexed = true
		completed, failed := drawSet(t, "completed"), drawSet(t, "failed")
		c := w.census()
		results := c.IndexResults(completed, failed)

		wantCounted, wantFailed := asMap(completed), asMap(failed)
		beyond := func(i int64, _ bool) bool { return i >= int64(w.Completions) }
		maps.DeleteFunc(wantCounted, beyond)
		maps.DeleteFunc(wantFailed, beyond)
		wantCompleted := maps.Clone(wantCounted)
		maps.Copy(wantCompleted, w.indexes(w.filter(w.carries, w.valid, w.succeeded)))
		maps.Copy(wantFailed, w.indexes(w.filter(w.carries, w.valid, w.failed, w.exhausted)))
		maps.DeleteFunc(wantFailed, func(i int64, _ bool) bool { return wantCompleted[i] || !w.PerIndex })

		Same(t, "counted", asMap(c.Counted()), wantCounted)
		Same(t, "completed", asMap(results.Completed), wantCompleted)
		Same(t, "failed", asMap(results.Failed), wantFailed)
	})
}

func TestRandom_predecessors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		c := w.census()
		results := c.IndexResults(drawSet(t, "completed"), drawSet(t, "failed"))
		want := w.predecessors(w.settled(results))
		got := map[int64]types.UID{}
		last := int32(-1)
		for _, r := range c.Predecessors() {
			if r.Index <= last {
				t.Errorf("index %d comes after %d", r.Index, last)
			}
			last = r.Index
			got[int64(r.Index)] = r.Pod.UID
		}
		Same(t, "predecessors", got, want)
		for i := int32(-1); i < 9; i++ {
			uid := types.UID("") // of none
			if r := c.Predecessor(i); r != nil {
				uid = r.Pod.UID
			}
			Same(t, "the predecessor of an index", uid, want[int64(i)])
		}
	})
}

// KEP-3850 and KEP-3939: an index may get a new pod unless it is done or has a pod.
func TestRandom_vacant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.Indexed = true
		c := w.census()
		results := c.IndexResults(drawSet(t, "completed"), drawSet(t, "failed"))
		taken := w.settled(results)
		if w.ReplaceFailedOnly {
			maps.Copy(taken, w.indexes(w.filter(terminating)))
		}
		var want []int32
		for i := range w.Completions {
			if !taken[int64(i)] {
				want = append(want, i)
			}
		}
		var vacant []int32
		for index, failed := range c.Vacant() {
			vacant = append(vacant, index)
			Same(t, fmt.Sprint("predecessor of ", index), failed, c.Predecessor(index))
		}
		Same(t, "vacant", vacant, want)
		Same(t, "number", c.Vacancies(), len(want))
		distinct := len(w.indexes(w.filter(active, w.valid)))
		Same(t, "misplaced", c.Misplaced(), distinct != len(w.filter(active)))
	})
}
