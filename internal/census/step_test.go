package census_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// inputs holds all inputs of a census so far, from which another one can be made.
type inputs struct {
	world             world
	job               classify.Classifier // recognizes its pods
	pods              map[types.UID]*corev1.Pod
	stripped          []types.UID
	completed, failed indexset.Set
}

func (o *inputs) classifier() *classify.Classifier {
	c := o.world.classifierFor(o.job)
	return &c
}

// fresh returns a census that gets all inputs at once.
func (o *inputs) fresh(t *rapid.T) *census.Census {
	c := census.New(o.classifier(), len(o.pods))
	if !c.Read(o.list()) {
		t.Fatalf("the pods cannot be read")
	}
	c.SetStripped(o.stripped)
	c.IndexResults(o.completed, o.failed)
	return c
}

// queries lists all queries of a census. A list is made by the first query that needs it, so
// their order matters.
var queries = []func(*census.Census) string{
	func(c *census.Census) string { return fmt.Sprintf("%+v", countersOf(c)) },
	func(c *census.Census) string {
		tracked := Each(c.TrackedInOrder(), func(r *census.Record) *corev1.Pod { return r.Pod })
		if all, of := c.BackoffChange(false), c.BackoffChangeOf(tracked); all != of {
			return fmt.Sprintf("BackoffChange is %v, of all tracked pods %v", all, of)
		}
		return fmt.Sprint("kept ", c.BackoffChange(true), " rebuilt ", c.Rebuilt("job"))
	},
	func(c *census.Census) string {
		return fmt.Sprint("claims ", records(c.Claims()), len(c.Others()), c.Len())
	},
	func(c *census.Census) string { return fmt.Sprint("active ", records(c.ActiveInOrder())) },
	func(c *census.Census) string { return fmt.Sprint("tracked ", records(c.TrackedInOrder())) },
	func(c *census.Census) string {
		out := "vacant"
		for index, failed := range c.Vacant() {
			if out += fmt.Sprint(" ", index); failed != nil {
				out += fmt.Sprint(" after ", failed.Pod.UID)
			}
		}
		return fmt.Sprint(out, " ", c.Vacancies(), c.Misplaced())
	},
	func(c *census.Census) string {
		out := fmt.Sprint("predecessors ", records(c.Predecessors()))
		for i := int32(-1); i < 9; i++ {
			if r := c.Predecessor(i); r != nil {
				out += fmt.Sprint(" ", i, r.Pod.UID)
			}
		}
		return out
	},
	func(c *census.Census) string { return "running " + summary(c.Account(classify.AccountInputs{Cap: 3})) },
	func(c *census.Census) string { return "full " + summary(c.Account(classify.AccountInputs{Cap: 1})) },
	func(c *census.Census) string {
		return "kept " + summary(c.Account(classify.AccountInputs{KeepFailsJob: true, Removals: 2}))
	},
	func(c *census.Census) string {
		return "failing " + summary(c.Account(classify.AccountInputs{Ending: batchv1.JobFailureTarget, Cap: 2}))
	},
	func(c *census.Census) string { return fmt.Sprint("pods ", UIDsOf(c.Pods())) },
}

func records(rs []*census.Record) []types.UID {
	return Each(rs, func(r *census.Record) types.UID { return r.Pod.UID })
}

// After any sequence of inputs, a census answers like one that gets all inputs at once. So
// do its clones, which are independent.
func TestRandom_everyStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &inputs{world: drawWorld(t), job: classifierOf(NewJob()), pods: map[types.UID]*corev1.Pod{}}
		crowded := rapid.Bool().Draw(t, "crowded") // several pods of each index, many of them failed
		if crowded {
			o.world.Indexed, o.world.PerIndex, o.world.Completions = true, true, 3
		}
		c := o.fresh(t)
		states := append(slices.Clone(o.world.Pods), drawWorld(t).Pods...)
		for i, pod := range states {
			pod.Name = "pod-" + string(pod.UID)
			if crowded {
				Index(strconv.Itoa(i % 4))(pod)
				if i%2 == 0 {
					Failed(pod)
				}
			}
			for _, change := range []Edit{Label("app", "x"), Ownerless, ControlledBy("other")} {
				if OneIn(t, 6, "changed") {
					change(pod)
				}
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			o.step(t, c, states)
			if OneIn(t, 5, "clone") {
				for _, query := range queries {
					Same(t, "a clone", query(c.Clone()), query(o.fresh(t)))
				}
				abandoned := c
				c = c.Clone()
				o.step(t, abandoned, states)
				o = new(*o)
				abandoned.Replace(nil)
				c.Replace(o.list())
				c.SetStripped(o.stripped)
				c.SetClassifier(o.classifier())
				c.IndexResults(o.completed, o.failed)
			}
			for _, q := range rapid.SliceOfN(rapid.IntRange(0, len(queries)-1), 0, 4).Draw(t, "queries") {
				Same(t, "a query", queries[q](c), queries[q](o.fresh(t)))
			}
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for _, query := range queries {
			Same(t, "at the end", query(c), query(o.fresh(t)))
		}
	})
}

func (o *inputs) list() []*corev1.Pod { return slices.Collect(maps.Values(o.pods)) }

// step makes one change.
func (o *inputs) step(t *rapid.T, c *census.Census, states []*corev1.Pod) {
	uid := types.UID("")
	if len(states) > 0 {
		uid = rapid.SampledFrom(states).Draw(t, "pod").UID
	}
	switch rapid.IntRange(0, 8).Draw(t, "change") {
	case 8:
		if len(states) > 0 {
			pod := rapid.SampledFrom(states).Draw(t, "state")
			maps.DeleteFunc(o.pods, func(_ types.UID, p *corev1.Pod) bool { return p.Name == pod.Name })
			if rapid.Bool().Draw(t, "present") {
				c.PutNamed(pod.Name, pod)
				o.pods[pod.UID] = pod
			} else {
				c.PutNamed(pod.Name, nil)
			}
		}
	case 0, 1, 2:
		if len(states) > 0 {
			pod := rapid.SampledFrom(states).Draw(t, "state")
			o.pods[pod.UID] = pod
			c.Put(pod)
		}
	case 3:
		if _, known := o.pods[uid]; c.Remove(uid) != known {
			t.Fatalf("Remove(%q) = %t, want %t", uid, !known, known)
		}
		delete(o.pods, uid)
	case 4:
		if o.stripped = rapid.SliceOfNDistinct(rapid.SampledFrom(append(UIDsOf(states), "none")), 0, 3, rapid.ID[types.UID]).Draw(t, "stripped"); true {
			c.SetStripped(o.stripped)
		}
	case 5:
		all := rapid.SliceOfNDistinct(rapid.SampledFrom(append(UIDsOf(states), "x", "y", "z")), 0, 3, rapid.ID[types.UID]).Draw(t, "listed")
		at := rapid.IntRange(0, len(all)).Draw(t, "of which succeeded")
		o.world.Succeeded, o.world.Failed = all[:at], all[at:]
		c.SetClassifier(o.classifier())
	case 6:
		set := &o.completed
		if rapid.Bool().Draw(t, "of failed indexes") {
			set = &o.failed
		}
		*set = drawSet(t, "set")
	case 7: // the status records the results
		results := c.IndexResults(o.completed, o.failed)
		o.completed, o.failed = results.Completed, results.Failed
	}
	Same(t, "results", c.IndexResults(o.completed, o.failed), o.fresh(t).IndexResults(o.completed, o.failed))
}

// The lists of a large census have many chunks.
func TestLargeCensus(t *testing.T) {
	const n = 3000
	classifier := classify.Classifier{Indexed: true, Completions: n, Limit: perIndex(5)}
	pods := make([]*corev1.Pod, n)
	c := newCensus(classifier, 0)
	for i := range pods {
		kind := Succeeded
		if i%3 > 0 {
			kind = Failed
		}
		pods[i] = Pod(fmt.Sprint("uid-", i*7919%n), Index(strconv.Itoa(i)), kind)
	}
	for i, pod := range pods {
		c.Add(pod, classify.Owned)
		if i%500 == 0 {
			c.IndexResults(indexset.Set{}, indexset.Set{})
			c.Account(classify.AccountInputs{})
			c.TrackedInOrder()
			c.Vacancies()
			if err := c.Check(); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
		}
	}
	for i, pod := range pods {
		c.Remove(pod.UID)
		if i%500 == 0 {
			if err := c.Check(); err != nil {
				t.Fatalf("without %d: %v", i, err)
			}
		}
	}
	Same(t, "pods and vacancies", []int{c.Len(), c.Vacancies()}, []int{0, n})
}
