package cli

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/cmd/internal/simulation"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/effort"
)

func drawDuration(t *rapid.T, most int, label string) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(rapid.IntRange(0, most).Draw(t, label)) * 500 * time.Millisecond}
}

// maybeDuration draws a duration, or none.
func maybeDuration(t *rapid.T, most int, label string) *metav1.Duration {
	if !rapid.Bool().Draw(t, "has "+label) {
		return nil
	}
	return drawDuration(t, most, label)
}

var someIndexes = rapid.SampledFrom([]simulation.Indexes{"", "0", "1", "0-2", "1,3", "4-9"})

func drawBehaviour(t *rapid.T) simulation.Behaviour {
	c := simulation.Behaviour{
		Indexes:    someIndexes.Draw(t, "indexes"),
		Exits:      rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 42, 137}), 0, 3).Draw(t, "exits"),
		Evict:      rapid.IntRange(0, 9).Draw(t, "evict") == 9,
		StartDelay: maybeDuration(t, 20, "startDelay"),
	}
	if rapid.Bool().Draw(t, "by chance") {
		c.Chance = new(rapid.Float64Range(0, 1).Draw(t, "chance"))
		c.Spread = *drawDuration(t, 20, "spread")
	}
	for range rapid.IntRange(0, 2).Draw(t, "durations") {
		c.Durations = append(c.Durations, *drawDuration(t, 60, "duration"))
	}
	return c
}

func drawEvent(t *rapid.T) simulation.Event {
	e := simulation.Event{At: *drawDuration(t, 120, "at")}
	switch rapid.IntRange(0, 7).Draw(t, "event") {
	case 0:
		e.Suspend = new(rapid.Bool().Draw(t, "suspend"))
	case 1:
		e.Parallelism = new(rapid.Int32Range(0, 6).Draw(t, "parallelism"))
	case 2:
		n := rapid.Int32Range(0, 6).Draw(t, "completions") // refused unless the Job is elastic
		e.Completions, e.Parallelism = &n, &n
	case 3:
		e.Capacity = new(rapid.Int32Range(0, 3).Draw(t, "capacity"))
	default:
		happens := rapid.SampledFrom([]*simulation.Indexes{&e.Evict, &e.RemoveNodes, &e.ForceDelete, &e.Lose}).Draw(t, "what")
		*happens = rapid.SampledFrom([]simulation.Indexes{"all", "all", "0", "1-3"}).Draw(t, "of")
	}
	return e
}

func drawScenario(t *rapid.T) simulation.Scenario {
	s := simulation.Scenario{
		Seed: rapid.Uint64().Draw(t, "seed"),
		// Some Jobs never end, and some not within the limit.
		Limit:      &metav1.Duration{Duration: rapid.SampledFrom([]time.Duration{10 * time.Second, 5 * time.Minute}).Draw(t, "limit")},
		StartDelay: maybeDuration(t, 10, "startDelay"), StopDelay: maybeDuration(t, 80, "stopDelay"),
		BatchPeriod: maybeDuration(t, 3, "batchPeriod"),
		LostNodes: simulation.LostNodes{UnreachableAfter: maybeDuration(t, 20, "unreachableAfter"),
			Toleration: maybeDuration(t, 60, "toleration"), RemovedAfter: maybeDuration(t, 200, "removedAfter")},
	}
	if rapid.IntRange(0, 3).Draw(t, "has a capacity") == 0 {
		s.Capacity = new(rapid.Int32Range(0, 4).Draw(t, "capacity"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "courses") {
		s.Pods = append(s.Pods, drawBehaviour(t))
	}
	for range rapid.IntRange(0, 3).Draw(t, "events") {
		s.Events = append(s.Events, drawEvent(t))
	}
	return s
}

// TestSimulationAddsUp checks random simulations. They do not depend on the pods that have been counted. KEP-2307
// § Proposal: "In subsequent Job syncs, the controller ignores finished Pods that don't have the finalizer."
func TestSimulationAddsUp(t *testing.T) {
	ends := map[simulation.End]int{}
	effort.Check(t, 30, func(rt *rapid.T) {
		job, scenario := jobtest.Jobs(jobtest.Usual()).Draw(rt, "job"), drawScenario(rt)
		var last batchv1.JobStatus
		play := func(keep bool) (timeline, error) {
			rec := recorder{changes: true, lines: true}
			last = batchv1.JobStatus{}
			r, err := simulation.Play(job, scenario, simulation.Settings{KeepCounted: keep, Stored: func(s simulation.Status) error {
				last = *s.New
				return rec.stored(s)
			}})
			if err != nil {
				return timeline{}, err
			}
			return newTimeline(titled{File: "a <&\x00> b", name: "a <&\x00> b"}, part{Manifest: &kubefile.Manifest{Job: job}}, r, &rec), nil
		}
		all, err := play(true)
		run, without := play(false)
		if fmt.Sprint(err) != fmt.Sprint(without) || err != nil && !strings.HasPrefix(err.Error(), "events[") {
			rt.Fatalf("got %v, and %v without the pods that have been counted; want a result, or a rejected event", err, without)
		}
		if err != nil {
			return
		}
		r := run.Result
		ends[r.End]++
		checkPods(rt, r, jobstatus.IsIndexed(&job.Spec), scenario.Capacity)
		checkStatus(rt, r, last)
		if diff := gocmp.Diff(toJSON(all), toJSON(run)); diff != "" {
			rt.Fatalf("-with all pods +without those that have been counted:\n%s", diff)
		}
		checkXML(rt, drawing([]timeline{run}))
		checkXML(rt, drawing([]timeline{run, run}))
		if text := newComparison([]timeline{run, run}).text(paint{}, false); strings.Contains(text, "Indexes that differ") {
			rt.Fatalf("a Job differs from itself:\n%s", text)
		}
		if text := run.text(paint{}, false); text == "" || strings.Count(text, "\n") > mostTimeline+12 {
			rt.Fatalf("got a text of %d lines:\n%s", strings.Count(text, "\n"), text)
		}
	})
	t.Logf("ends: %v", ends)
	for _, end := range []simulation.End{simulation.Complete, simulation.Failed, simulation.Stalled, simulation.OutOfTime} {
		if ends[end] == 0 {
			t.Errorf("no simulation ended %s: %v", end, ends)
		}
	}
}

// checkPods checks the totals and the times of the pods.
func checkPods(t *rapid.T, r *simulation.Result, indexed bool, capacity *int32) {
	var sum simulation.Totals
	names := map[string]bool{}
	for i, lane := range r.Lanes {
		if i > 0 && r.Lanes[i-1].Index >= lane.Index {
			t.Fatalf("lane %d follows lane %d", lane.Index, r.Lanes[i-1].Index)
		}
		var free simulation.Time // from when on
		for _, pod := range lane.Pods {
			sum.Pods++
			names[pod.Name] = true
			ended := *cmp.Or(pod.Ended, &r.Took)
			started := *cmp.Or(pod.Started, &ended)
			sum.Running += pod.Ran(r.Took)
			if pod.Created > started || started > ended || ended > r.Took || (pod.Ended == nil) != (pod.Outcome == simulation.PodUnfinished) {
				t.Fatalf("pod %+v is out of order, in a simulation of %s", pod, r.Took)
			}
			if !indexed && pod.Created < free {
				t.Fatalf("pod %s is created at %s where another one is until %s", pod.Name, pod.Created, free)
			}
			free = ended
			sum.Restarts += pod.Restarts
			Same(t, "listed restarts of pod "+pod.Name, len(pod.Restarted), min(pod.Restarts, 100))
			for outcome, n := range map[simulation.Outcome]*int{simulation.PodSucceeded: &sum.Succeeded, simulation.PodFailed: &sum.Failed,
				simulation.PodEvicted: &sum.Evicted, simulation.PodDeleted: &sum.Deleted} {
				if pod.Outcome == outcome {
					*n++
				}
			}
		}
		for _, w := range lane.Waits {
			if w.From >= w.Until {
				t.Fatalf("index %d waits from %s until %s", lane.Index, w.From, w.Until)
			}
		}
	}
	if capacity != nil && !slices.ContainsFunc(r.Happened, func(h simulation.Happening) bool { return strings.HasPrefix(h.Text, "capacity") }) {
		checkCapacity(t, r, int(*capacity))
	}
	sum.Syncs = r.Totals.Syncs
	if diff := gocmp.Diff(r.Totals, sum); diff != "" || len(names) != sum.Pods {
		t.Fatalf("%d names; totals (-result +added up):\n%s", len(names), diff)
	}
}

// checkCapacity checks that no more pods ran at once than the capacity.
func checkCapacity(t *rapid.T, r *simulation.Result, capacity int) {
	var ran []simulation.Pod
	for _, lane := range r.Lanes {
		ran = slices.Concat(ran, slices.DeleteFunc(slices.Clone(lane.Pods), func(p simulation.Pod) bool { return p.Started == nil }))
	}
	for _, pod := range ran {
		at, running := *pod.Started, 0
		for _, other := range ran {
			if *other.Started <= at && *cmp.Or(other.Ended, new(at+1)) > at {
				running++
			}
		}
		if running > capacity {
			t.Fatalf("%d pods run at %s, where there is room for %d", running, at, capacity)
		}
	}
}

// checkStatus compares the status with the statuses that were stored and with
// the pods.
func checkStatus(t *rapid.T, r *simulation.Result, last batchv1.JobStatus) {
	if diff := gocmp.Diff(last, r.Status); diff != "" {
		t.Fatalf("the status (-stored last +result):\n%s", diff)
	}
	finished := jobstatus.Finished(&batchv1.Job{Status: r.Status})
	if ended := r.End == simulation.Complete || r.End == simulation.Failed; finished == nil && ended || ended && string(finished.Type) != string(r.End) {
		t.Fatalf("got end %s and condition %v", r.End, finished)
	}
	if finished != nil && r.Status.Active > 0 {
		t.Fatalf("%d pods are active in a Job that has ended", r.Status.Active)
	}
	uncounted := cmp.Or(r.Status.UncountedTerminatedPods, &batchv1.UncountedTerminatedPods{})
	if n := int(r.Status.Succeeded) + len(uncounted.Succeeded); n > r.Totals.Succeeded {
		t.Fatalf("%d pods count as succeeded, where %d have", n, r.Totals.Succeeded)
	}
	if n := int(r.Status.Failed) + len(uncounted.Failed); n > r.Totals.Pods-r.Totals.Succeeded {
		t.Fatalf("%d pods count as failed, of %d that have not succeeded", n, r.Totals.Pods-r.Totals.Succeeded)
	}
	for _, c := range r.Status.Conditions {
		if !slices.ContainsFunc(r.Conditions, func(have simulation.Condition) bool {
			return have.Type == string(c.Type) && have.Status == string(c.Status) && have.Reason == c.Reason
		}) {
			t.Fatalf("the result has no condition %s", c.Type)
		}
	}
}

// checkXML reads a picture, which closes as many elements as it opens.
func checkXML(t *rapid.T, text string) {
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Fatalf("no XML: %v in\n%s", err, text)
	}
}
