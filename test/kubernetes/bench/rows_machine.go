package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	"unsafe"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/machine"
)

// A fedMachine is a Machine that is fed with the pods of a world, and a server that answers its
// requests.
type fedMachine struct {
	machine *machine.Machine
	job     *batchv1.Job
	version int
	now     time.Time
}

// newFedMachine returns a Machine that has nothing left to write. The world is in the same state.
func newFedMachine(w *world) (*fedMachine, error) {
	f := &fedMachine{machine: machine.New(), job: w.job, version: 100, now: now}
	view := f.view()
	view.Fed, view.Pods = false, w.pods
	for range 100 {
		before := f.version
		if _, err := f.sync(view); err != nil {
			return nil, err
		}
		if view = f.view(); f.version == before {
			return f, nil
		}
	}
	return nil, errStuck
}

func (f *fedMachine) view() machine.View {
	return machine.View{Job: f.job, Fed: true, Now: f.now, JobsVersion: "999999999", PodsVersion: "999999999",
		Barrier: "1"}
}

// sync lets the Machine sync once, and returns the last status that was written.
func (f *fedMachine) sync(view machine.View) (status *batchv1.JobStatus, err error) {
	if err := f.machine.Begin(view); err != nil {
		return nil, err
	}
	result := f.machine.Run(func(r machine.Request) (k8sruntime.Object, error) {
		f.version++
		switch r.Verb {
		case machine.PatchStatus:
			job := *f.job // a copy, as on the server: only the status is new
			job.Status, job.ResourceVersion = *r.Status, strconv.Itoa(f.version)
			f.job, status = &job, r.Status
			return &job, nil
		case machine.PatchPod:
			pod := &corev1.Pod{}
			pod.Name, pod.UID, pod.ResourceVersion = r.Name, r.UID, strconv.Itoa(f.version)
			f.machine.Feed(r.Name, nil) // the pod is garbage collected at once
			return pod, nil
		}
		return nil, fmt.Errorf("unexpected request: %s", r.Verb)
	})
	return status, result.Err
}

// eventRows measure one event and a sync that finds nothing to do.
func eventRows(m meter, z scale, emit emit) error {
	fewest, most := z.pods[0], z.pods[len(z.pods)-1]
	fast, flat, fair := atMost(20e3, "≤ 20 µs"), atMost(3e3, "≤ 3 µs"), atMost(100e3, "≤ 100 µs")
	perIndex := (*world).withLimitPerIndex
	for _, tc := range []struct {
		name     string
		jobState jobState
		change   func(*world) *world
		event    target
		growth   target // beside the fewest pods
		cold     bool   // other work has emptied the processor's caches before each event
	}{
		{"running", running, asItIs, fast, flat, false},
		{"running, per index", running, perIndex, fast, flat, false},
		{"failed and backing off, per index", backingOff, perIndex, fair, target{}, false},
		{"failed and backing off, per index, cold", backingOff, perIndex, target{}, target{}, true},
		{"a third each backing off, completed, failed", backingOff, (*world).inThirds, fair, target{}, false},
	} {
		var sides []side
		for _, n := range []int{fewest, most} {
			s, err := eventSide(tc.jobState, tc.change, n)
			if err != nil {
				return fmt.Errorf("%s, %d pods: %w", tc.name, n, err)
			}
			if tc.cold {
				s = cold(s)
			}
			sides = append(sides, s)
		}
		r, err := m.measure(sides...)
		if err != nil {
			return fmt.Errorf("%s: %w", tc.name, err)
		}
		what := fmt.Sprintf("one event and a sync, %s pods, %s", many(most), tc.name)
		emit(absolute(what+": least", r.least(1), tc.event),
			absolute(what+": least, more than with "+many(fewest), r.least(1)-r.least(0), tc.growth))
	}
	return nil
}

func asItIs(w *world) *world { return w }

// countedHalf returns a world in which every second pod has succeeded and is counted.
func (w *world) countedHalf() *world {
	job, pods := w.job.DeepCopy(), slices.Clone(w.pods)
	var done indexset.Builder
	for i, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded {
			pod = pod.DeepCopy()
			pod.Finalizers, pods[i] = nil, pod
			done.Add(int32(indexOf(pod)))
		}
	}
	set := done.Set()
	job.Status.CompletedIndexes, job.Status.Succeeded = set.String(), int32(set.Len())
	return &world{job: job, pods: pods}
}

// inThirds returns a world with a limit per index: of three indexes, one backs off, and one each is
// counted as completed and as failed.
func (w *world) inThirds() *world {
	w = w.withLimitPerIndex()
	var pods []*corev1.Pod
	var done, failed indexset.Builder
	for _, pod := range w.pods {
		switch i := indexOf(pod); i % 3 {
		case 0:
			pods = append(pods, pod)
		case 1:
			done.Add(int32(i))
		case 2:
			failed.Add(int32(i))
		}
	}
	status := &w.job.Status
	status.CompletedIndexes, status.Succeeded = done.Set().String(), int32(done.Set().Len())
	*status.FailedIndexes, status.Failed = failed.Set().String(), int32(failed.Set().Len())
	return &world{job: w.job, pods: pods}
}

// cold returns a side that empties the processor's caches each time, which is not measured.
func cold(s side) side {
	other := make([]byte, 96<<20)
	return side{run: func(times int) (sum time.Duration, err error) {
		for range times {
			for i := 0; i < len(other); i += 64 {
				other[i]++
			}
			took, err := s.run(1)
			if err != nil {
				return 0, err
			}
			sum += took
		}
		return sum / time.Duration(times), nil
	}}
}

// eventSide feeds two states of one pod alternately.
func eventSide(s jobState, change func(*world) *world, n int) (side, error) {
	w := newWorld(s, n)
	w = change(w)
	f, err := newFedMachine(w)
	if err != nil {
		return side{}, err
	}
	states := make([][2]*corev1.Pod, min(len(w.pods), 64))
	for i := range states {
		states[i] = [2]*corev1.Pod{w.pods[i], w.pods[i].DeepCopy()}
	}
	at, before := 0, f.version
	view := f.view()
	return side{run: func(times int) (time.Duration, error) {
		start := clock()
		for range times {
			at++
			pod := states[at%len(states)][at/len(states)%2]
			f.machine.Feed(pod.Name, pod)
			if _, err := f.sync(view); err != nil {
				return 0, err
			}
		}
		took := (clock() - start) / time.Duration(times)
		if f.version != before {
			return 0, fmt.Errorf("there were %d writes, want none", f.version-before)
		}
		return took, nil
	}}, nil
}

// endRows measure the time until a finished pod is counted, and the part of that time for the index
// lists of the status.
func endRows(m meter, z scale, emit emit) error {
	// Without garbage collection: it would mark all pods, which takes longer than the measured
	// work.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	n := z.pods[len(z.pods)-1]
	for _, tc := range []struct {
		name     string
		jobState jobState
		change   func(*world) *world
	}{{"dense", running, asItIs}, {"scattered", half, (*world).countedHalf}} {
		w := newWorld(tc.jobState, n)
		ends := &endSide{world: tc.change(w)}
		if err := ends.begin(); err != nil {
			return err
		}
		r, err := m.measure(side{run: ends.run}, timed(ends.texts))
		if err != nil {
			return fmt.Errorf("%s: %w", tc.name, err)
		}
		what := fmt.Sprintf("a pod ends and is counted, %s pods, %s", many(n), tc.name)
		emit(slower(r, 0, 1, what, "the texts of the status", target{}),
			absolute(what+": least, beside the texts", r.least(0)-r.least(1), atMost(100e3, "≤ 100 µs")))
	}
	return nil
}

func indexOf(pod *corev1.Pod) int {
	index, _ := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	return index
}

// An endSide ends one pod after the other, in the order of their indexes.
type endSide struct {
	*fedMachine
	world *world
	left  []*corev1.Pod
	set   indexset.Set // the completed indexes
	sink  int
}

// begin starts with a Machine that has read the world.
func (e *endSide) begin() (err error) {
	e.left = nil
	e.set, _ = indexset.ParseDamaged(e.world.job.Status.CompletedIndexes, *e.world.job.Spec.Completions)
	if e.fedMachine, err = newFedMachine(e.world); err != nil {
		return err
	}
	for _, pod := range e.world.pods {
		if pod.Status.Phase == corev1.PodRunning {
			e.left = append(e.left, pod)
		}
	}
	slices.SortFunc(e.left, func(a, b *corev1.Pod) int { return indexOf(a) - indexOf(b) })
	return nil
}

func (e *endSide) run(times int) (time.Duration, error) {
	var took time.Duration
	for range times {
		if len(e.left) == 1 { // the end of the last pod would end the Job
			if err := e.begin(); err != nil {
				return 0, err
			}
		}
		pod := e.left[0].DeepCopy()
		e.left = e.left[1:]
		ended(pod, corev1.PodSucceeded, 0, 2*time.Second)
		start := clock()
		e.machine.Feed(pod.Name, pod)
		status, err := e.sync(e.view())
		took += clock() - start
		if err != nil {
			return 0, err
		}
		e.set = e.set.Union(indexset.Of(int32(indexOf(pod))))
		if status == nil || status.Succeeded != int32(e.set.Len()) {
			return 0, fmt.Errorf("the pod %s was not counted", pod.Name)
		}
	}
	return took / time.Duration(times), nil
}

// texts does the minimum that a sync must do for the index lists of the status: it adds an index to
// the set, formats the set, and encodes the patch.
func (e *endSide) texts() {
	status := e.job.Status
	status.CompletedIndexes = e.set.Union(indexset.Of(int32(indexOf(e.left[0])))).String()
	e.sink += len(jobstatus.Patch(e.job.UID, e.job.ResourceVersion, &status))
}

// machineMemoryRows measure the memory of a Machine, without the pods themselves.
func machineMemoryRows(_ meter, z scale, emit emit) error {
	for _, s := range []jobState{running, backingOff} {
		n := z.pods[len(z.pods)-1]
		w := newWorld(s, n)
		w = w.withLimitPerIndex()
		kept, err := keptBy(w)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("bytes per pod in a Machine, %s pods, %s, per index", many(n), s.name)
		emit(amount(what, "B", "%.1f", float64(kept)/float64(n), atMost(120, "≤ 120")))
	}
	w := newWorld(running, 1)
	kept, err := keptBy(w)
	if err != nil {
		return err
	}
	emit(amount("bytes of a Machine, a Job of one pod", "B", "%.0f", float64(kept), atMost(3072, "≤ 3 kB")))
	return nil
}

// keptBy returns the number of bytes that a Machine keeps for a world after an event, once its last
// result is released.
func keptBy(w *world) (int64, error) {
	machines := make([]*fedMachine, max(1, 1000/len(w.pods)))
	before := liveBytes()
	for i := range machines {
		f, err := newFedMachine(w)
		if err != nil {
			return 0, err
		}
		pod := w.pods[0]
		f.machine.Feed(pod.Name, pod)
		if _, err := f.sync(f.view()); err != nil {
			return 0, err
		}
		machines[i] = f
	}
	after := liveBytes()
	runtime.KeepAlive(machines)
	runtime.KeepAlive(w)
	kept := (int64(after)-int64(before))/int64(len(machines)) - int64(unsafe.Sizeof(fedMachine{}))
	if machines[0].job != w.job {
		kept -= int64(unsafe.Sizeof(batchv1.Job{})) // the server's copy
	}
	return kept, nil
}

func liveBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
