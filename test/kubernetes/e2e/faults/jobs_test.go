package faults

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
	"github.com/jobfate/jobfate/test/stories/script"
)

// scenario is a Job whose final state must not depend on what happens to its controller. Its pods follow
// a script by index and attempt.
type scenario struct {
	name   string
	script kubelet.Script
	// run creates the Job with about n pods, and returns when it has ended.
	run func(w *world.World, n int32)
}

var scenarios = []scenario{
	{"regular", regularScript, runRegular},
	{"per-index", perIndexScript, runPerIndex},
	{"counted", countedScript, runCounted},
	{"fail-job", running, runFailJob},
	{"suspended", running, runSuspended},
	{"deleted", running, runDeleted},
}

const (
	fatal     = 42          // the exit code that ends an index or a Job
	worktime  = time.Second // how long succeeding pods run. Failing pods run shorter, because a success ends the backoff
	runsTwice = 10          // one in this number of pods fails once
)

func quick(l kubelet.Life) kubelet.Life {
	l.Direct = true
	return l
}

var running = kubelet.Always(kubelet.Run())

// byUser runs an action of a user. It retries, because the server may be restarting.
func byUser(do func()) {
	serverRestarts.RLock()
	defer serverRestarts.RUnlock()
	do()
}

var serverRestarts sync.RWMutex

// play plays a step of a user, in which SIZE stands for the number of pods.
func play(w *world.World, step string, n int32) {
	byUser(func() { w.Play(strings.ReplaceAll(step, "SIZE", strconv.Itoa(int(n)))) })
}

func ended(w *world.World) {
	w.When("the Job has ended", func(s script.State) bool { return s.Ended() })
}

// The first pod of one in ten indexes fails. The first pod of one in fifty is deleted by a
// user, which counts as a failure too.
const deletedOneIn = 50

func regularScript(p kubelet.Pod) kubelet.Life {
	switch {
	case p.Attempt == 0 && p.Index%deletedOneIn == 7:
		return kubelet.Run()
	case p.Attempt == 0 && p.Index%runsTwice == 3:
		return quick(kubelet.Fail(1))
	}
	return quick(kubelet.Succeed().After(worktime))
}

func runRegular(w *world.World, n int32) {
	play(w, "create {completionMode: Indexed, completions: SIZE, parallelism: SIZE, backoffLimit: SIZE}", n)
	left := map[int]bool{}
	for index := 7; index < int(n); index += deletedOneIn {
		left[index] = true
	}
	w.When("some pods have been deleted", func(s script.State) bool {
		for _, pod := range s.All {
			if index := script.Index(pod); left[index] && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				delete(left, index)
				byUser(func() { w.DeletePod(pod, false) })
			}
		}
		return len(left) == 0
	})
	ended(w)
}

// With a backoff limit per index some indexes fail once, some exceed their limit, some fail
// because of an exit code, and some because of a disruption, which does not count.
func perIndexScript(p kubelet.Pod) kubelet.Life {
	switch first := p.Attempt == 0; {
	case p.Index%20 == 3 && first, p.Index%20 == 5:
		return quick(kubelet.Fail(1))
	case p.Index%20 == 7:
		return quick(kubelet.Fail(fatal))
	case p.Index%20 == 9 && first:
		return quick(kubelet.Fail(1).Disrupted())
	}
	return quick(kubelet.Succeed().After(worktime))
}

func runPerIndex(w *world.World, n int32) {
	play(w, `create {completionMode: Indexed, completions: SIZE, parallelism: SIZE, backoffLimitPerIndex: 1, maxFailedIndexes: SIZE, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}, {action: FailIndex, onExitCodes: {operator: In, values: [42]}}]}}`, n)
	ended(w)
}

// Without indexes, only the UID of a pod shows whether it was counted.
func countedScript(p kubelet.Pod) kubelet.Life {
	if p.Attempt%runsTwice == 3 {
		return quick(kubelet.Fail(1))
	}
	return quick(kubelet.Succeed().After(worktime))
}

func runCounted(w *world.World, n int32) {
	play(w, fmt.Sprintf("create {completions: SIZE, parallelism: %d, backoffLimit: SIZE}", n/2), n)
	ended(w)
}

// A rule fails the Job while all its pods are running. They are deleted and counted.
func runFailJob(w *world.World, n int32) {
	n /= 5
	play(w, "create {completionMode: Indexed, completions: SIZE, parallelism: SIZE, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}}", n)
	allRun(w, n)
	endAs(w, kubelet.Fail(fatal), func(s script.State) []*corev1.Pod { return s.OfIndex(0) })
}

// The pods of a suspended Job are deleted and not counted. The Job gets new pods when it is
// resumed.
func runSuspended(w *world.World, n int32) {
	n /= 5
	play(w, "create {completionMode: Indexed, completions: SIZE, parallelism: SIZE}", n)
	before := allRun(w, n)
	play(w, "edit {suspend: true}", n)
	w.Play("when pods=0 Suspended/JobSuspended")
	play(w, "edit {suspend: false}", n)
	s := allRun(w, n)
	for _, pod := range s.Active() {
		if before.All[pod.Name] != nil {
			w.T.Errorf("pod %s has survived the suspension", pod.Name)
		}
	}
	// A Job that ends before its status shows the resumption stays Suspended.
	w.Play("when !Suspended/JobResumed")
	endAs(w, kubelet.Succeed(), script.State.Active)
}

// endAs ends pods in a given way, and waits until the Job has ended. Pods may be created or
// replaced meanwhile.
func endAs(w *world.World, life kubelet.Life, which func(script.State) []*corev1.Pod) {
	done := map[types.UID]bool{}
	w.When("the Job has ended", func(s script.State) bool {
		for _, pod := range which(s) {
			if !done[pod.UID] {
				done[pod.UID] = true
				w.Become(life, pod)
			}
		}
		return s.Ended()
	})
}

// A Job is deleted when half of its pods have ended. Finalizers must not block the deletion of the
// other pods.
func runDeleted(w *world.World, n int32) {
	n /= 5
	play(w, "create {completionMode: Indexed, completions: SIZE, parallelism: SIZE}", n)
	s := allRun(w, n)
	w.Become(kubelet.Succeed(), s.Active()[n/2:]...)
	play(w, "delete-job Background", n)
	w.Play("when job=gone pods=0")
}

func allRun(w *world.World, n int32) script.State {
	return w.When(fmt.Sprintf("%d pods run", n), func(s script.State) bool {
		ready := 0
		for _, pod := range s.All {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				ready++
			}
		}
		return ready == int(n)
	})
}
