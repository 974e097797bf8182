package decisions

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/machine"
)

var heapEvents = effort.Flag("heap-events", "events that each TestMachine_heap feeds", 10_000, 1_000_000)

// A churn has a Machine replace the pods of a Job, again and again. Its server answers at once.
type churn struct {
	*machine.Machine
	machine.View
	pods     map[string]*corev1.Pod
	queue    []string // the names of the pods, oldest first
	versions int
	events   int
}

// put stores a pod, or removes it if it is nil, and feeds it.
func (c *churn) put(name string, pod *corev1.Pod) {
	if c.pods[name] = pod; pod == nil {
		delete(c.pods, name)
	}
	c.Feed(name, pod)
	c.events++
}

func (c *churn) sync(t *testing.T) {
	c.Now = c.Now.Add(time.Hour) // no index backs off any more
	c.PodsVersion, c.JobsVersion = strconv.Itoa(c.versions), strconv.Itoa(c.versions)
	if err := c.Begin(c.View); err != nil {
		t.Fatal(err)
	}
	c.Fed = true
	if r := c.Run(c.answer); r.Err != nil {
		t.Fatal(r.Err)
	}
}

func (c *churn) answer(r machine.Request) (k8sruntime.Object, error) {
	c.versions++
	version := strconv.Itoa(c.versions)
	switch r.Verb {
	case machine.PatchStatus:
		c.Job = c.Job.DeepCopy()
		c.Job.Status, c.Job.ResourceVersion = *r.Status, version
		return c.Job, nil
	case machine.CreatePod:
		pod := r.Pod
		pod.Name = pod.GenerateName + version
		pod.UID = types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(c.versions)*2654435761, c.versions))
		pod.ResourceVersion, pod.Status.Phase = version, corev1.PodRunning
		c.put(pod.Name, pod)
		c.queue = append(c.queue, pod.Name)
		return pod, nil
	case machine.PatchPod, machine.DeletePod:
		pod := c.pods[r.Name].DeepCopy()
		pod.Finalizers, pod.ResourceVersion = nil, version
		if c.put(r.Name, pod); r.Verb == machine.DeletePod || pod.Status.Phase != corev1.PodRunning {
			c.put(r.Name, nil)
		}
		return pod, nil
	}
	return nil, fmt.Errorf("unexpected request: %s", r.Verb)
}

// end lets the oldest pods end. Some of them never end.
func (c *churn) end(n int) {
	for _, name := range c.queue[:n] {
		pod := c.pods[name].DeepCopy()
		if c.events++; pod == nil || c.events%1000 == 0 {
			continue
		}
		c.versions++
		if pod.Status.Phase = corev1.PodSucceeded; c.events%3 == 0 {
			pod.Status.Phase = corev1.PodFailed
		}
		pod.ResourceVersion = strconv.Itoa(c.versions)
		c.put(name, pod)
	}
	c.queue = slices.Clone(c.queue[n:])
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// The memory of a Machine depends on the pods that are left, not on those that are gone. After pods
// are gone, it keeps the memory of at most four times as many.
func TestMachine_heap(t *testing.T) {
	const most = 2000
	for _, tc := range []struct {
		name              string
		perIndex, indexed bool
		left              int32
		ratio             float64
	}{
		{"indexed", false, true, most, 1.5}, {"indexed, fewer pods at the end", false, true, most / 10, 4},
		{"per index", true, true, most, 1.5}, {"per index, fewer pods at the end", true, true, most / 10, 4},
		{"not indexed", false, false, most, 1.5}, {"not indexed, fewer pods at the end", false, false, most / 10, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := largeJob(most, tc.perIndex, running)
			if !tc.indexed {
				s.Job.Spec.CompletionMode, s.Job.Status.FailedIndexes = nil, nil
			}
			completions := int32(1 << 30)
			s.Job.Spec.Completions = &completions
			c := &churn{Machine: machine.New(), pods: map[string]*corev1.Pod{}, versions: 1_000_000,
				View: machine.View{Job: s.Job, Pods: s.Pods, Now: s.Now, Barrier: "1"}}
			for _, pod := range s.Pods {
				c.pods[pod.Name] = pod
				c.queue = append(c.queue, pod.Name)
			}
			c.sync(t)
			s.Pods, c.Pods = nil, nil
			for c.events < heapEvents() {
				c.end(min(100, len(c.queue)))
				c.sync(t)
			}
			c.Job = c.Job.DeepCopy()
			c.Job.Spec.Parallelism = &tc.left
			for range 30 {
				c.sync(t)
			}
			if len(c.pods) != int(tc.left) {
				t.Fatalf("%d pods are left, want %d", len(c.pods), tc.left)
			}
			pods := slices.Collect(maps.Values(c.pods))
			c.pods, c.queue = nil, nil

			before := heap()
			fresh := &churn{Machine: machine.New(), View: c.View, versions: c.versions}
			fresh.Pods, fresh.Fed = pods, false
			fresh.sync(t)
			fresh.Feed(pods[0].Name, pods[0])
			fresh.sync(t)
			with := heap()
			want := with - before
			c.Machine = nil
			got := with - heap()
			runtime.KeepAlive(pods)
			runtime.KeepAlive(fresh)
			t.Logf("after %d events: %d bytes, a new Machine with the same pods: %d", c.events, got, want)
			if ratio := float64(got) / float64(want); ratio > tc.ratio {
				t.Errorf("after %d events the Machine keeps %.1f times as much as a new one with the same pods, want at most %v",
					c.events, ratio, tc.ratio)
			}
		})
	}
}
