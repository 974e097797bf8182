package main

import (
	"fmt"
	"math"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/decide"
)

// A scale holds the sizes of the measurements.
type scale struct {
	pods      []int // only rows with the last number have targets
	intervals []int // only rows with the last number have targets
}

var scales = map[string]scale{
	"full":   {[]int{1_000, 10_000, 100_000}, []int{1, 100, 50_000}},
	"medium": {[]int{1_000, 10_000}, []int{100, 50_000}},
	"short":  {[]int{1_000}, []int{100}},
}

// A group is a set of rows that are measured together.
type group struct {
	title   string
	measure func(meter, scale, emit) error
}

// emit is called with rows as they are measured.
type emit func(...row)

var groups = []group{
	{"decisions", decisionRows},
	{"per index", perIndexRows},
	{"one pod", smallRows},
	{"one event", eventRows},
	{"one pod ends", endRows},
	{"a Machine's memory", machineMemoryRows},
	{"a life", lifeRows},
	{"completions", completionRows},
	{"codec", codecRows},
	{"sets", setRows},
	{"explain", explainRows},
}

// decisionRows compares Decide with the floor and with the real controller.
func decisionRows(m meter, z scale, emit emit) error {
	for _, s := range []jobState{running, backingOff} {
		for k, n := range z.pods {
			w := newWorld(s, n)
			p := w.withLimitPerIndex()
			r, err := m.measure(w.floor(), w.jobfate(), w.realSync(), p.jobfate(), p.realSync())
			if err != nil {
				return fmt.Errorf("%s, %d pods: %w", s.name, n, err)
			}
			var toFloor, toReal target
			if k == len(z.pods)-1 {
				toFloor, toReal = atMost(3, "≤ 3"), atLeast(10, "≥ 10")
			}
			what := fmt.Sprintf("Decide, %s pods, %s", many(n), s.name)
			emit(slower(r, 1, 0, what, "floor", toFloor), faster(r, 1, 2, what, "real controller", toReal),
				slower(r, 3, 0, what+", per index", "floor", toFloor),
				faster(r, 3, 4, what+", per index", "real controller", toReal))
		}
	}
	return nil
}

// perIndexRows compares a backoff limit per index with a limit for the whole Job, on the same
// pods.
func perIndexRows(m meter, z scale, emit emit) error {
	for _, n := range z.pods {
		for _, tc := range []struct {
			jobState jobState
			goal     target
		}{
			{running, atMost(1.01, "≤ 1.01")},
			{backingOff, atMost(1.10, "≤ 1.10")},
		} {
			w := newWorld(tc.jobState, n)
			// A difference of one percent requires more runs.
			r, err := meter{runs: 5 * m.runs}.measure(w.jobfate(), w.withLimitPerIndex().jobfate())
			if err != nil {
				return err
			}
			emit(slower(r, 1, 0, fmt.Sprintf("per index, %s pods, %s", many(n), tc.jobState.name),
				"regular Indexed Job", tc.goal))
		}
	}
	return nil
}

// completionRows compares two Jobs with the same pods: one has a completion for each pod, the other
// has the maximum of completions.
func completionRows(m meter, z scale, emit emit) error {
	n := z.pods[min(1, len(z.pods)-1)]
	for _, s := range []jobState{running, backingOff} {
		few := newWorld(s, n)
		few = few.withLimitPerIndex()
		few.job.Spec.Completions = new(int32(100_000))
		lots := few.withCompletions(math.MaxInt32)
		r, err := meter{runs: 3 * m.runs}.measure(few.jobfate(), lots.jobfate())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("completions 10⁵ → 2³¹−1, %s pods, %s", many(n), s.name)
		used := allocated(func() { _, err = decide.Job(lots.snapshot()) })
		emit(slower(r, 1, 0, what, "10⁵ completions", atMost(1.10, "≤ 1.10")),
			amount(what+": memory", "MB", "%.2f MB", float64(used.bytes)/1e6, atMost(1, "< 1 MB")))
	}
	return nil
}

// smallRows measure the most common Job, which has one pod: the decision to create the pod, and a
// sync after an event.
func smallRows(m meter, _ scale, emit emit) error {
	w := newWorld(running, 1)
	fresh := &world{job: w.job.DeepCopy()}
	fresh.job.Status = batchv1.JobStatus{}
	event, err := eventSide(running, asItIs, 1)
	if err != nil {
		return err
	}
	r, err := m.measure(fresh.jobfate(), fresh.realSync(), event, w.realSync())
	if err != nil {
		return err
	}
	emit(faster(r, 0, 1, "one pod: the decision to create it", "real controller", atLeast(3, "≥ 3")),
		faster(r, 2, 3, "one pod: an event and a sync that changes nothing", "real controller", atLeast(3.5, "≥ 3.5")))
	decision := allocated(func() { _, err = decide.Job(fresh.snapshot()) })
	emit(amount("one pod: the decision to create it: allocations", "allocs", "%.0f", float64(decision.count),
		atMost(40, "≤ 40")))
	return err
}
