package main

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/machine"
	"github.com/jobfate/jobfate/tracking"
)

// A fedLife runs an Indexed Job from its creation to its end. The first pod of each index fails.
// The Machine is fed with single pods. The simulated API server does only the minimum, so that a
// Job of 10^6 indexes is feasible.
type fedLife struct {
	fedMachine
	pods    map[string]*corev1.Pod
	changed []*corev1.Pod // since the last sync
	running []string
	failed  map[string]bool // the indexes whose first pod has failed
	took    time.Duration   // the time in the Machine
	floor   time.Duration   // the time for the same pods, patches and feeding without a decision
	fed     map[string]*corev1.Pod
	syncs   int
	bytes   uint64 // live bytes at the end, including the pods
}

var errStuck = errors.New("the Job has not ended, but no pod runs and no sync is due")

func newFedLife(n int, perIndex bool) *fedLife {
	w := &world{job: newJob(n)}
	if perIndex {
		w = w.withLimitPerIndex()
	}
	w.job.Status = batchv1.JobStatus{}
	return &fedLife{
		fedMachine: fedMachine{machine: machine.New(), job: w.job, version: 100, now: now},
		pods:       map[string]*corev1.Pod{}, failed: map[string]bool{}, fed: map[string]*corev1.Pod{},
	}
}

// live runs the Job to its end.
func (l *fedLife) live() error {
	for l.job.Status.CompletionTime == nil {
		before := l.version
		after, err := l.sync()
		switch {
		case err != nil:
			return err
		case l.version != before:
		case len(l.running) > 0:
			l.end()
		case after <= 0:
			return errStuck
		default:
			l.now = l.now.Add(after)
		}
	}
	if n := int(*l.job.Spec.Completions); int(l.job.Status.Succeeded) != n || int(l.job.Status.Failed) != n ||
		len(l.pods) != 2*n {
		return fmt.Errorf("the Job of %d indexes ends with %d succeeded and %d failed of %d pods", n,
			l.job.Status.Succeeded, l.job.Status.Failed, len(l.pods))
	}
	return nil
}

func (l *fedLife) sync() (after time.Duration, err error) {
	l.syncs++
	l.time(&l.floor, func() {
		for _, pod := range l.changed {
			l.fed[pod.Name] = pod
		}
	})
	l.time(&l.took, func() {
		for _, pod := range l.changed {
			l.machine.Feed(pod.Name, pod)
		}
		err = l.machine.Begin(l.view())
	})
	l.changed = nil
	for err == nil {
		var batch []machine.Request
		if l.time(&l.took, func() { batch = l.machine.Next() }); len(batch) == 0 {
			break
		}
		answers := make([]k8sruntime.Object, len(batch))
		for i := range batch {
			if answers[i], err = l.answer(&batch[i]); err != nil {
				return 0, err
			}
		}
		l.time(&l.took, func() {
			for i := range batch {
				err = l.machine.Answer(batch[i], answers[i], err)
			}
		})
	}
	var result machine.Result
	l.time(&l.took, func() { result = l.machine.Result() })
	return result.Requeue, result.Err
}

func (l *fedLife) answer(r *machine.Request) (k8sruntime.Object, error) {
	l.version++
	version := strconv.Itoa(l.version)
	l.time(&l.floor, func() { atLeastFor(r, l.pods[r.Name]) })
	switch r.Verb {
	case machine.PatchStatus:
		job := *l.job
		job.Status, job.ResourceVersion = *r.Status, version
		l.job = &job
		return &job, nil
	case machine.CreatePod:
		pod := r.Pod
		pod.UID, pod.Name = types.UID(fmt.Sprintf("%08x-%d", uint32(l.version)*2654435761, l.version)),
			pod.GenerateName+version
		pod.ResourceVersion, pod.CreationTimestamp, pod.Status.Phase, pod.Spec.NodeName = version,
			metav1.NewTime(l.now), corev1.PodRunning, "node"
		l.running = append(l.running, pod.Name)
		l.show(pod)
		return pod, nil
	case machine.PatchPod:
		pod := *l.pods[r.Name]
		pod.ResourceVersion, pod.Finalizers = version, nil
		l.show(&pod)
		return &pod, nil
	}
	return nil, fmt.Errorf("unexpected request: %s", r.Verb)
}

// atLeastFor builds the pod of a request and encodes its patch, without a decision.
func atLeastFor(r *machine.Request, pod *corev1.Pod) {
	switch r.Verb {
	case machine.CreatePod:
		built.pod = r.Pod.DeepCopy()
	case machine.PatchPod:
		built.patch = tracking.Keys{}.StripPatch(pod)
	case machine.PatchStatus:
		built.patch = jobstatus.Patch(r.UID, r.ResourceVersion, r.Status)
	}
}

// built keeps the results of the floor, so that they are not optimized away.
var built struct {
	pod   *corev1.Pod
	patch []byte
}

// end ends all running pods.
func (l *fedLife) end() {
	for _, name := range l.running {
		pod := *l.pods[name]
		l.version++
		pod.ResourceVersion = strconv.Itoa(l.version)
		index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]
		pod.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1)
		if ended(&pod, corev1.PodSucceeded, 0, 0); !l.failed[index] {
			l.failed[index] = true
			ended(&pod, corev1.PodFailed, 1, 0)
		}
		pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = metav1.NewTime(l.now)
		l.show(&pod)
	}
	l.running = nil
	l.now = l.now.Add(time.Second)
}

func (l *fedLife) show(pod *corev1.Pod) {
	l.pods[pod.Name] = pod
	l.changed = append(l.changed, pod)
}

// time adds the duration of f to a sum.
func (l *fedLife) time(sum *time.Duration, f func()) {
	start := clock()
	f()
	*sum += clock() - start
}

// lifeRows measure how long lives take, and whether the time grows faster than the number of
// indexes. The longest life has ten times the pods of the previous one, and runs only once.
func lifeRows(m meter, z scale, emit emit) error {
	runtime.LockOSThread() // the clock measures this thread
	defer runtime.UnlockOSThread()
	most := z.pods[len(z.pods)-1]
	for _, perIndex := range []bool{false, true} {
		var before time.Duration
		for k, n := range []int{z.pods[len(z.pods)-2], most, 10 * most} {
			runs := m.runs
			if k == 2 {
				runs = 1
			}
			best, x, err := leastLife(n, perIndex, runs)
			if err != nil {
				return fmt.Errorf("%d indexes: %w", n, err)
			}
			what := fmt.Sprintf("a life, %s indexes that each fail once", many(n))
			if perIndex {
				what += ", per index"
			}
			var limit target
			if k == 1 {
				limit = atMost(float64(3*time.Second), "≤ 3 s")
				growth := float64(best.took) / float64(before)
				emit(row{what: what, ours: span(best.took), beside: many(z.pods[len(z.pods)-2]),
					theirs: span(before), ratio: fmt.Sprintf("%.1f ×", growth), samples: []float64{growth}}.
					with(atMost(12, "≤ 12"), growth))
			}
			floor := row{what: what, ours: span(best.took), beside: "floor: pods, patches, feeding",
				theirs: span(best.floor), ratio: fmt.Sprintf("%.2f ×", x), samples: []float64{x}}
			if k == 1 {
				floor = floor.with(atMost(2, "≤ 2"), x)
			}
			emit(absolute(what+": least", best.took, limit), floor, row{what: what + ": syncs, memory with the pods",
				ours: fmt.Sprintf("%d, %d MB", best.syncs, best.bytes>>20)})
			before = best.took
		}
	}
	return nil
}

// leastLife returns the fastest life, and the median ratio of a life to its floor.
func leastLife(n int, perIndex bool, runs int) (best *fedLife, ratio float64, err error) {
	var ratios []float64
	for range runs {
		before := liveBytes()
		l := newFedLife(n, perIndex)
		if err := l.live(); err != nil {
			return nil, 0, err
		}
		l.bytes = liveBytes() - before
		ratios = append(ratios, float64(l.took)/float64(l.floor))
		if l.pods = nil; best == nil || l.took < best.took {
			best = l
		}
	}
	return best, middle(ratios), nil
}
