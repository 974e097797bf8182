package decisions

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/machine"
)

// These are the tests of what decisions cost: how much memory they allocate, and how the statements that they execute
// grow with their input.

// usage is what a function allocates.
type usage struct{ count, bytes uint64 }

// allocated returns what f allocates. The counters are those of the whole process. Goroutines that earlier tests left
// behind can only add to them, so the minimum of several measurements is the value of f.
func allocated(f func()) usage {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f()
	least := usage{math.MaxUint64, math.MaxUint64}
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least.count = min(least.count, after.Mallocs-before.Mallocs)
		least.bytes = min(least.bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// costly is something that allocates at most a number of times, and at most some bytes.
type costly struct {
	name string
	most usage
	do   func()
}

// What a decision allocates for each pod and each event. A decision on a large Job allocates a page for 16 indexes, and
// at most 48 times besides that and its result.
func TestAllocations(t *testing.T) {
	const n, times = 1000, 1000
	event := eventOfOnePod(t)
	rows := []costly{{"1000 events of one pod", usage{12 * times, 1024 * times}, func() {
		for range times {
			event()
		}
	}}}
	for _, state := range atRest {
		s := settled(t, state.snapshot(n))
		rows = append(rows, costly{state.name, usage{n/16 + 48, 128 * n}, func() { podtest.Must(decide.Job(s)) }})
	}
	d, state, failures := largeGroup(t, 1000)
	old := slices.Clone(failures)
	for i := range old {
		old[i].Attempt = 0
	}
	ended := state
	ended.Phase = group.Failed
	for _, g := range []struct {
		name     string
		state    group.State
		failures []group.Failure
	}{{"a group without failures", state, nil}, {"a group that has decided its failures", state, old},
		{"failures of a group that has ended", ended, failures}} {
		rows = append(rows, costly{g.name, usage{}, func() {
			if got, err := d.Decide(g.state, g.failures, podtest.Noon()); err != nil || got.Changed {
				t.Fatalf("%s: changed %v, %v", g.name, got.Changed, err)
			}
		}})
	}
	var driver group.Driver
	view := largeView(t, 1000)
	rows = append(rows, costly{"a sync of a group in which nothing has failed", usage{}, func() {
		driver.Begin(view)
		if batch := driver.Next(); len(batch) > 0 || len(driver.Result().Plan.Succeeded) != 1 {
			t.Fatalf("%d requests", len(batch))
		}
	}})
	policy := &group.Policy{Rules: []group.Rule{{Steps: []group.Step{{Action: group.FailGroup}}}}}
	rows = append(rows, costly{"a group without failures, not prepared", usage{}, func() {
		if got, err := group.Decide(policy, state, nil, podtest.Noon()); err != nil || got.Changed {
			t.Fatalf("changed %v, %v", got.Changed, err)
		}
	}})
	for _, row := range rows {
		got := allocated(row.do)
		t.Logf("%s: %d allocations, %d bytes", row.name, got.count, got.bytes)
		if got.count > row.most.count || got.bytes > row.most.bytes {
			t.Errorf("%s: got %+v, want at most %+v", row.name, got, row.most)
		}
	}
}

// What a decision allocates hardly grows with the size of an input that it need not read.
func TestGrowth(t *testing.T) {
	both, count, bytes := func(u usage) uint64 { return u.count + u.bytes }, func(u usage) uint64 { return u.count },
		func(u usage) uint64 { return u.bytes }
	decision := func(s decide.Snapshot) func() { return func() { podtest.Must(decide.Job(s)) } }
	completions := func(state func(int, *corev1.Pod)) func(int32) func() {
		return func(n int32) func() {
			s := largeJob(1000, true, state)
			s.Job.Spec.Completions = &n
			return decision(s)
		}
	}
	for name, row := range map[string]struct {
		few, many int32
		ratio     float64
		what      func(usage) uint64
		with      func(n int32) func()
	}{
		"completions":                      {100_000, math.MaxInt32, 1, both, completions(running)},
		"completions of a Job in backoff":  {100_000, math.MaxInt32, 1, both, completions(failedJustNow)},
		"creations with the same template": {1, 500, 2, bytes, func(n int32) func() { return decision(largeTemplate(t, n)) }},
		"other indexes than one to explain": {10, 1000, 1.5, count, func(n int32) func() {
			d := podtest.Must(decide.Job(largeJob(int(n), true, failedJustNow)))
			return func() { explain.Of(d).Index(5) }
		}},
	} {
		few, many := row.what(allocated(row.with(row.few))), row.what(allocated(row.with(row.many)))
		if float64(many) > row.ratio*float64(few) {
			t.Errorf("%s: %d for %d, %d for %d, want at most %v times as much", name, few, row.few, many, row.many, row.ratio)
		}
	}
}

// grows runs a benchmark with 1,000 items and with 10,000. .ci/slope compares the statements that were executed: of
// BenchmarkSlope_* they grow at most in proportion to the items, of BenchmarkEvent_* not at all.
func grows(b *testing.B, with func(n int) func()) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for do := with(n); b.Loop(); {
				do()
			}
		})
	}
}

func BenchmarkSlope_sidecarsOfAFailedPod(b *testing.B) {
	grows(b, func(n int) func() {
		pod := withSidecars(decidetest.PodIn(decidetest.SpecJob(b, "completions: 1"), 1, corev1.PodFailed), n)
		return func() { backoff.FinishTime(pod) }
	})
}

func BenchmarkSlope_sidecarsOfASurplusPod(b *testing.B) {
	grows(b, func(n int) func() {
		job := decidetest.SpecJob(b, "completions: 1\nparallelism: 1")
		s := decide.Snapshot{Job: job, Now: job.CreationTimestamp.Time}
		for i := range 2 {
			pod := withSidecars(decidetest.PodIn(job, 1, corev1.PodRunning), n)
			pod.UID = types.UID(fmt.Sprint(i))
			s.Pods = append(s.Pods, pod)
		}
		return func() { podtest.Same(b, "pods to delete", len(podtest.Must(decide.Job(s)).Delete), 1) }
	})
}

// The UIDs collide under a fixed, public hash function: its state after these eight bytes does not depend on what
// precedes them.
func BenchmarkSlope_uids(b *testing.B) {
	grows(b, func(n int) func() {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = &corev1.Pod{}
			pods[i].UID = types.UID(fmt.Sprintf("%08x%s-", i, "\x2f\x64\xbd\x78\x64\x1d\x76\xa0"))
		}
		return func() {
			if !census.New(&classify.Classifier{}, n).Read(pods) {
				b.Fatal("two pods have the same UID")
			}
		}
	})
}

func BenchmarkSlope_failedPods(b *testing.B) {
	grows(b, func(n int) func() {
		s := largeJob(n, false, failedJustNow)
		return func() { podtest.Must(decide.Job(s)) }
	})
}

func BenchmarkSlope_failedIndexes(b *testing.B) {
	grows(b, func(n int) func() {
		s := largeJob(n, true, failedJustNow)
		return func() { podtest.Must(decide.Job(s)) }
	})
}

func BenchmarkSlope_members(b *testing.B) {
	grows(b, func(n int) func() {
		d, state, failures := largeGroup(b, n)
		return func() {
			got, err := d.Decide(state, failures, podtest.After(100_000).Time)
			if err != nil || got.Action != group.RestartMember || int(got.Open) != len(failures)-1 {
				b.Fatalf("%v, %d open, %v", got.Action, got.Open, err)
			}
		}
	})
}

func BenchmarkSlope_driver(b *testing.B) {
	grows(b, func(n int) func() {
		var d group.Driver
		view := largeView(b, n)
		return func() {
			if d.Begin(view); len(d.Next()) > 0 {
				b.Fatal("a member that has succeeded needs no request")
			}
		}
	})
}

// "A Machine that is fed: microseconds, whatever the number of pods" (docs/performance.md).
func BenchmarkEvent_failedIndexes(b *testing.B) {
	grows(b, func(n int) func() {
		view := thirds(n)
		return events(b, view, view.Pods[0], view.Pods[0].DeepCopy())
	})
}

// Most Jobs have one pod, and most syncs change nothing. Such a sync after an event must not cost a
// cluster of many Jobs more than TestAllocations says.
func eventOfOnePod(t testing.TB) func() {
	job := podtest.NewJob()
	job.ResourceVersion, job.Spec.Template.Labels = "10", job.Spec.Selector.MatchLabels
	job.Spec.Parallelism, job.Spec.Completions = new(int32(1)), new(int32(1))
	job.Status = batchv1.JobStatus{StartTime: &metav1.Time{Time: podtest.Noon()}, Active: 1, Ready: new(int32),
		Terminating: new(int32), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}
	view := fresh(job, podtest.Pod("p"))
	view.Now = podtest.Noon()
	return events(t, view, podtest.Pod("p"), podtest.Pod("p"))
}

// events returns a function that feeds another object for the same pod to a Machine, and syncs.
func events(t testing.TB, view machine.View, states ...*corev1.Pod) func() {
	m := machine.New()
	sync := func() {
		podtest.NoError(t, m.Begin(view))
		if requests := m.Next(); len(requests) > 0 {
			t.Fatalf("got the request to %s %s, want none", requests[0].Verb, requests[0].Patch)
		}
	}
	view.JobsVersion, view.PodsVersion = "1000", "1000"
	sync()
	view.Pods, view.Fed = nil, true
	at := 0
	return func() {
		at++
		m.Feed("", states[at%2])
		sync()
	}
}

// A decision copies the template once (TestGrowth). Creation.Pod makes a pod each time it is called.
func TestCreations_areMadeWhenNeeded(t *testing.T) {
	s := largeTemplate(t, 2)
	d := podtest.Must(decide.Job(s))
	s.Job.Spec.Template.Spec.Containers[0].Env[0].Value = "changed later"
	a, b := d.Create[0].Pod(), d.Create[0].Pod()
	a.Spec.Containers[0].Env[1].Value, a.Labels["mine"], a.Finalizers[0] = "changed", "yes", "other"
	podtest.Same(t, "the variable of the pod, as the template had it at the decision", b.Spec.Containers[0].Env[0].Value, "value")
	if b.Spec.Containers[0].Env[1].Value != "value" || b.Labels["mine"] != "" || b.Finalizers[0] == "other" {
		t.Error("two pods of one Creation share memory")
	}
	podtest.Same(t, "the pod of the zero Creation", (decide.Creation{}).Pod(), nil)
}
