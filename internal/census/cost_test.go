package census

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// largeJob is an Indexed Job of 1,000 completions. A limit of 0 means none per index.
func largeJob(limitPerIndex int32) *batchv1.Job {
	job := NewJob()
	Indexed(1000)(job)
	if limitPerIndex > 0 {
		PerIndex(limitPerIndex)(job)
	}
	return job
}

func censusOf(t *testing.T, job *batchv1.Job, o classify.Options, pods ...*corev1.Pod) (*Census, *classify.Classifier) {
	t.Helper()
	of, err := classify.Of(job, tracking.Keys{}.WithDefaults(), o)
	if err != nil {
		t.Fatal(err)
	}
	c := New(&of, len(pods))
	if !c.Read(pods) {
		t.Fatal("Read: a pod is invalid")
	}
	return c, &of
}

// somePods returns pods of many kinds: for each of n indexes one.
func somePods(n int) (pods []*corev1.Pod) {
	kinds := [...][]Edit{{}, {Exit(0, After(1))}, {Exit(1, After(2))}, {Deleted}, {Exit(1, After(3)), Released},
		{Exit(1, After(4)), Deleted}, {Exit(0, After(5)), Released}}
	for i := range n {
		pods = append(pods, Pod(fmt.Sprint("pod-", i), append(kinds[i%len(kinds)], Index(fmt.Sprint(i)))...))
	}
	return pods
}

// "The cost of a query depends on what has changed since the last one": without a change, no query
// allocates memory.
func TestCost_nothingChanged(t *testing.T) {
	completed, failed := indexset.Of(1, 500, 501), indexset.Of(1, 600)
	for _, limit := range []int32{0, 1} {
		for _, n := range []int{5, 300} {
			c, of := censusOf(t, largeJob(limit), classify.Options{}, somePods(n)...)
			queries := map[string]func(){
				"IndexResults": func() { c.IndexResults(completed, failed) }, "Vacancies": func() { c.Vacancies() },
				"SetDone, Vacancies": func() { c.SetDone(completed, failed); c.Vacancies() },
				"BackoffChange":      func() { c.BackoffChange(false) },
				"SetStripped":        func() { c.SetStripped(nil) }, "SetClassifier": func() { c.SetClassifier(of) },
				"PutNamed": func() { c.PutNamed("absent", nil) }, "Predecessor": func() { c.Predecessor(2) },
			}
			for l := range lists {
				queries[fmt.Sprint("list ", l)] = func() { c.list(l) }
			}
			for name, query := range queries {
				if got := testing.AllocsPerRun(3, query); got > 0 {
					t.Errorf("limit per index %d, %d pods: %s again: %v allocations, want none", limit, n, name, got)
				}
			}
		}
	}
}

// The set of completed indexes is not computed again for a pod whose index has another one or is in
// the status, and not when the status records what the pods have shown.
func TestCost_knownIndexes(t *testing.T) {
	three, both, none := indexset.Of(3), indexset.Of(3, 5), indexset.Set{}
	succeeded := func(uid, index string) *corev1.Pod { return Pod(uid, Index(index), Exit(0, After(1))) }
	drop := func(c *Census) { c.drop(c.Of("a")) }
	for name, tc := range map[string]struct {
		pods   []*corev1.Pod
		status indexset.Set
		change func(*Census)
	}{
		"the index has another pod":    {[]*corev1.Pod{succeeded("a", "3"), succeeded("b", "3")}, none, drop},
		"the status has the index":     {[]*corev1.Pod{succeeded("a", "3")}, three, drop},
		"the status records the index": {[]*corev1.Pod{succeeded("a", "3")}, none, func(c *Census) { c.SetDone(both, none) }},
	} {
		const runs = 5
		var prepared []*Census
		for range runs + 1 { // the first run does not count
			c, _ := censusOf(t, largeJob(0), classify.Options{}, append(tc.pods, succeeded("c", "5"))...)
			c.IndexResults(tc.status, none)
			prepared = append(prepared, c)
		}
		if got := testing.AllocsPerRun(runs, func() {
			c := prepared[0]
			prepared = prepared[1:]
			if tc.change(c); !c.succeeded.union().Equal(both) {
				t.Errorf("%s: got %v completed, want 3 and 5", name, c.succeeded.union())
			}
		}); got > 0 {
			t.Errorf("%s: %v allocations, want none", name, got)
		}
	}
}

// A pod that is classified as before is no change: neither the same lists of the status, nor the time,
// nor the same object makes one.
func TestCost_noChange(t *testing.T) {
	job := largeJob(0)
	job.Status.UncountedTerminatedPods = Lists(UIDs("pod-1"), UIDs("pod-2"))
	lost := func(pod *corev1.Pod) { Deleted(pod); pod.Spec.NodeName = "node" }
	c, of := censusOf(t, job, classify.Options{LostAfter: time.Second, Now: After(100).Time},
		append(somePods(7), Pod("lost", lost))...)
	c.SetClassifier(of)
	c.SetStripped(UIDs("pod-5"))
	if !c.Of("lost").Lost {
		t.Fatal("the pod on the lost node is not lost")
	}
	before := c.Changes
	c.Put(c.Of("pod-1").Pod)
	c.SetClassifier(of)
	c.SetStripped(UIDs("pod-5"))
	Same(t, "changes", c.Changes, before)
}

// Most Jobs have one pod. What they do not have takes no memory.
func TestCost_memoryOfOnePod(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		job := NewJob()
		if indexed {
			job = largeJob(3)
		}
		c, of := censusOf(t, job, classify.Options{}, Pod("a", Index("0")))
		c.SetClassifier(of)
		c.IndexResults(indexset.Set{}, indexset.Set{})
		c.BackoffChange(false)
		c.PutNamed("absent", nil)
		for l := range lists {
			Same(t, fmt.Sprintf("indexed %t: list %d is there", indexed, l), c.list(l) != nil, l == active || l == tracked)
		}
		if (c.indexed != nil) != indexed || c.finishes != nil || c.names != nil || c.records.many != nil {
			t.Errorf("indexed %t: got %+v, want no finish times, no names, no map and indexes only where there are any", indexed, c)
		}
	}
}

// An index that has had one failed pod needs no list of failures.
func TestCost_memoryOfOneFailure(t *testing.T) {
	c, _ := censusOf(t, largeJob(3), classify.Options{}, Pod("a", Index("0"), Exit(1, After(1))))
	c.drop(c.Of("a"))
	if c.lists[failures] != nil || c.Predecessor(0) != nil {
		t.Errorf("got the list %v and the predecessor %v, want neither", c.lists[failures], c.Predecessor(0))
	}
}

// The pods of a large Job are found by name in a map.
func TestCost_names(t *testing.T) {
	c, _ := censusOf(t, NewJob(), classify.Options{}, somePods(20)...)
	c.PutNamed("absent", nil)
	Same(t, "names", len(c.names), 20)
}

// A list of up to 256 items is one chunk. A list that is made of sorted items takes one allocation.
func TestCost_chunks(t *testing.T) {
	compare := func(a, b int) int { return a - b }
	grown, items := newOrdered(compare, nil), make([]int, 0, mostItems)
	for i := range mostItems {
		grown.insert(i)
		items = append(items, i)
	}
	Same(t, "chunks", len(grown.chunks), 1)
	if got := testing.AllocsPerRun(5, func() { made = newOrdered(compare, items) }); got != 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}

var made *ordered[int] // so that it is allocated

// A census that was large is made again once it has less than a quarter of its pods, because maps do
// not shrink.
func TestIsSparse(t *testing.T) {
	for _, tc := range []struct {
		most, left int
		want       bool
	}{{100, 100, false}, {100, 25, false}, {100, 24, true}, {100, 0, true}, {99, 0, false}} {
		c, _ := censusOf(t, NewJob(), classify.Options{}, somePods(tc.most)...)
		for i := tc.left; i < tc.most; i++ {
			c.drop(c.Of(types.UID(fmt.Sprint("pod-", i))))
		}
		Same(t, fmt.Sprintf("sparse with %d of %d pods", tc.left, tc.most), c.IsSparse(), tc.want)
	}
}

// A long list of copies is read into a new census, a short one is not.
func TestDiffers(t *testing.T) {
	for _, tc := range []struct {
		pods, copies, nils int
		want               bool
	}{{100, 100, 0, true}, {100, 51, 0, true}, {100, 51, 1, true}, {100, 50, 0, false}, {100, 0, 0, false}, {99, 99, 0, false}} {
		pods := somePods(tc.pods)
		c, _ := censusOf(t, NewJob(), classify.Options{}, pods...)
		for i := range tc.copies {
			pods[i] = pods[i].DeepCopy()
		}
		pods = append(pods, make([]*corev1.Pod, tc.nils)...)
		Same(t, fmt.Sprintf("%d of %d pods are copies, %d nil: it differs", tc.copies, tc.pods, tc.nils), c.Differs(pods), tc.want)
	}
}
