package main

import (
	"fmt"
	"math"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate"
)

// A scale says how large things are: full for the table, small for the tests.
type scale struct {
	pods      []int // the last is the one that has targets
	intervals []int // so has the last
	completed int32 // completions at the top of the range
}

var full = scale{
	pods:      []int{1_000, 10_000, 100_000},
	intervals: []int{1, 100, 50_000},
	completed: math.MaxInt32,
}

// A group is some rows that are measured together.
type group struct {
	title   string
	measure func(meter, scale, emit) error
}

// emit takes rows as they are measured.
type emit func(...row)

var groups = []group{
	{"decisions", decisionRows},
	{"per index", perIndexRows},
	{"one pod", smallRows},
	{"memory", memoryRows},
	{"one event", eventRows},
	{"one pod ends", endRows},
	{"a Machine's memory", machineMemoryRows},
	{"a life", lifeRows},
	{"completions", completionRows},
	{"codec", codecRows},
	{"sets", setRows},
	{"near 2³¹", farRows},
	{"validation", validationRows},
}

// The sides of a decision.
const (
	sideFloor = iota
	sideRegular
	sideReal
	sidePerIndex
	sideRealPerIndex
)

// decisionTargets are those of performance.md, at the largest number of pods.
var decisionTargets = map[string]struct{ floor, real target }{
	running.name:    {atMost(3, "≤ 3"), atLeast(10, "≥ 10")},
	backingOff.name: {atMost(3, "≤ 3"), atLeast(10, "≥ 10")},
}

// decisionRows compares Decide with the floor and with the real controller, and
// the time per pod of the largest Job with that of the smallest.
func decisionRows(m meter, z scale, emit emit) error {
	for _, s := range scenes {
		var smallest float64 // the ratio to the floor
		for k, n := range z.pods {
			r, err := measureScene(m, s, n)
			if err != nil {
				return fmt.Errorf("%s, %d pods: %w", s.name, n, err)
			}
			last, goal := k == len(z.pods)-1, decisionTargets[s.name]
			if !last {
				goal.floor, goal.real = target{}, target{}
			}
			what := fmt.Sprintf("Decide, %s pods, %s", many(n), s.name)
			emit(slower(r, sideRegular, sideFloor, what, "floor", goal.floor),
				faster(r, sideRegular, sideReal, what, "real controller", goal.real))
			if s.perIndex {
				emit(slower(r, sidePerIndex, sideFloor, what+", per index", "floor", goal.floor),
					faster(r, sidePerIndex, sideRealPerIndex, what+", per index", "real controller", goal.real))
			}
			if k == 0 {
				smallest = r.ratio(sideRegular, sideFloor)
			}
			if last && goal.floor.met != nil {
				emit(shapeRow(s.name, n, r.ratio(sideRegular, sideFloor), z.pods[0], smallest))
			}
		}
	}
	return nil
}

func measureScene(m meter, s scene, n int) (result, error) {
	w, err := newWorld(s, n)
	if err != nil {
		return nil, err
	}
	sides := []side{w.floor(), w.jobfate(), w.realSync()}
	if s.perIndex {
		p := w.withLimitPerIndex()
		sides = append(sides, p.jobfate(), p.realSync())
	}
	return m.measure(sides...)
}

// shapeRow says how the time per pod grows, over that of the floor.
func shapeRow(name string, n int, large float64, few int, small float64) row {
	x := large / small
	return row{
		what: fmt.Sprintf("shape, %s: time per pod over the floor, %s pods over %s", name, many(n), many(few)),
		ours: fmt.Sprintf("%.2f", large), beside: many(few) + " pods", theirs: fmt.Sprintf("%.2f", small),
		ratio: fmt.Sprintf("%.2f ×", x),
	}.with(atMost(1.5, "≤ 1.5"), x)
}

// perIndexRows compares a backoff limit per index with one for the whole Job, on
// the same pods.
func perIndexRows(m meter, z scale, emit emit) error {
	for _, n := range z.pods {
		for _, tc := range []struct {
			scene scene
			goal  target
		}{
			{running, atMost(1.01, "≤ 1.01")},
			{backingOff, atMost(1.10, "≤ 1.10")},
		} {
			w, err := newWorld(tc.scene, n)
			if err != nil {
				return err
			}
			// A difference of a hundredth takes more runs to see.
			r, err := meter{runs: 5 * m.runs}.measure(w.jobfate(), w.withLimitPerIndex().jobfate())
			if err != nil {
				return err
			}
			emit(slower(r, 1, 0, fmt.Sprintf("per index, %s pods, %s", many(n), tc.scene.name), "regular Indexed Job", tc.goal))
		}
	}
	return nil
}

// memoryRows say what a decision about many pods allocates.
func memoryRows(_ meter, z scale, emit emit) error {
	n := z.pods[len(z.pods)-1]
	for _, s := range scenes {
		w, err := newWorld(s, n)
		if err != nil {
			return err
		}
		worlds := []*world{w}
		if s.perIndex {
			worlds = append(worlds, w.withLimitPerIndex())
		}
		for k, w := range worlds {
			what := fmt.Sprintf("%s pods, %s", many(n), s.name)
			if k == 1 {
				what += ", per index"
			}
			emit(usageRows(what, w.snapshot(), n)...)
		}
	}
	return nil
}

func usageRows(what string, s jobfate.Snapshot, n int) []row {
	var d jobfate.Decision
	plain := allocated(func() { d, _ = jobfate.Decide(s) })
	returned := returnedBy(d)
	own := float64(plain.count) - float64(returned.count)
	perPod := (float64(plain.bytes) - float64(returned.bytes)) / float64(n)
	return []row{
		row{what: "allocations, " + what, ours: fmt.Sprint(plain.count), beside: "returned", theirs: fmt.Sprint(returned.count),
			ratio: fmt.Sprintf("%.0f more", own)}.with(atMost(32, "≤ 32 more"), own),
		row{what: "bytes per pod, " + what, ours: fmt.Sprintf("%.1f", perPod)}.with(atMost(160, "≤ 160"), perPod),
	}
}

// returnedBy is what a decision itself takes: the lists, the status, what that
// points to, and its lists.
func returnedBy(d jobfate.Decision) usage {
	var u usage
	u.list(len(d.Claim), int(unsafe.Sizeof(jobfate.Claim{})))
	u.list(len(d.Delete), int(unsafe.Sizeof(jobfate.Deletion{})))
	u.list(len(d.Create), int(unsafe.Sizeof(jobfate.Creation{})))
	u.list(len(d.Strip), int(unsafe.Sizeof(new(corev1.Pod))))
	u.list(len(d.Metrics), int(unsafe.Sizeof(jobfate.Metric{})))
	for _, m := range d.Metrics {
		u.list(len(m.Labels), 2*int(unsafe.Sizeof(""))) // at least
	}
	st := d.Status
	if st == nil {
		return u
	}
	u.list(1, int(unsafe.Sizeof(*st)))
	u.list(len(st.Conditions), int(unsafe.Sizeof(batchv1.JobCondition{})))
	u.list(len(st.CompletedIndexes), 1)
	for _, number := range []*int32{st.Ready, st.Terminating} {
		u.pointed(number != nil, 4)
	}
	for _, time := range []*metav1.Time{st.StartTime, st.CompletionTime} {
		u.pointed(time != nil, int(unsafe.Sizeof(metav1.Time{})))
	}
	if st.FailedIndexes != nil {
		u.pointed(true, int(unsafe.Sizeof("")))
		u.list(len(*st.FailedIndexes), 1)
	}
	if lists := st.UncountedTerminatedPods; lists != nil {
		u.pointed(true, int(unsafe.Sizeof(*lists)))
		u.list(len(lists.Succeeded), int(unsafe.Sizeof("")))
		u.list(len(lists.Failed), int(unsafe.Sizeof("")))
	}
	return u
}

// list adds a list, unless it is empty.
func (u *usage) list(length, size int) {
	if length > 0 {
		u.count++
		u.bytes += uint64(length * size)
	}
}

func (u *usage) pointed(there bool, size int) {
	if there {
		u.list(1, size)
	}
}

// completionRows compares a Job with as many completions as it has pods to one
// with the most that there can be, and the same pods.
func completionRows(m meter, z scale, emit emit) error {
	n := z.pods[min(1, len(z.pods)-1)]
	for _, s := range []scene{running, backingOff} {
		few, err := newWorld(s, n)
		if err != nil {
			return err
		}
		few = few.withLimitPerIndex()
		few.job.Spec.Completions = pointer(int32(100_000))
		lots := few.withCompletions(z.completed)
		r, err := meter{runs: 3 * m.runs}.measure(few.jobfate(), lots.jobfate(), lots.realSync())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("completions 10⁵ → 2³¹−1, %s pods, %s", many(n), s.name)
		used := allocated(func() { _, err = jobfate.Decide(lots.snapshot()) })
		emit(slower(r, 1, 0, what, "10⁵ completions", atMost(1.10, "≤ 1.10")),
			faster(r, 1, 2, what, "real controller", target{}),
			row{what: what + ": memory", ours: fmt.Sprintf("%.2f MB", float64(used.bytes)/1e6)}.
				with(atMost(1e6, "< 1 MB"), float64(used.bytes)))
	}
	return nil
}

func pointer[T any](v T) *T { return &v }
