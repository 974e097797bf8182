package decisions

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest/cluster"
	"github.com/jobfate/jobfate/jobtest/decidetest"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/machine"
)

var heapEvents = effort.Flag("heap-events", "events that each TestMachine_heap feeds", 10_000, 1_000_000)

// A churn is a cluster in which a Machine replaces the pods of a Job, again and again.
type churn struct {
	*cluster.Cluster
	cache *cluster.Cache
}

// sync lets a Machine act, and then the kubelets and the garbage collector.
func (c churn) sync(t *testing.T, caller *cluster.Caller) {
	c.Now = c.Now.Add(time.Hour) // no index backs off any more
	NoError(t, c.Run(caller, c.cache).Err)
	for _, pod := range c.Pods() {
		switch {
		case cluster.HasEnded(pod) && len(pod.Finalizers) == 0:
			c.Vanish(pod.UID)
		case pod.DeletionTimestamp != nil:
			c.End(pod.UID, 0)
		default:
			c.Start(pod.UID)
		}
	}
}

// end ends one pod of twenty. The oldest pods never end.
func (c churn) end() {
	pods := c.Pods()
	for i := 7; i < len(pods); i += 20 {
		code := int32(0)
		if i%3 == 0 {
			code = 1
		}
		c.End(pods[i].UID, code)
	}
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
	const (
		most     = 2000
		indexed  = "completionMode: Indexed"
		perIndex = indexed + "\nbackoffLimitPerIndex: 1000000000\nmaxFailedIndexes: 10000"
	)
	for _, tc := range []struct {
		name, spec string
		left       int32
		ratio      float64
	}{
		{"indexed", indexed, most, 1.5}, {"indexed, fewer pods at the end", indexed, most / 10, 4},
		{"per index", perIndex, most, 1.5}, {"per index, fewer pods at the end", perIndex, most / 10, 4},
		{"not indexed", "", most, 1.5}, {"not indexed, fewer pods at the end", "", most / 10, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			job := decidetest.ParseJob(t, fmt.Sprintf("completions: 1000000000\nparallelism: %d\nbackoffLimit: 1000000000\n%s", most, tc.spec))
			c := churn{Cluster: decidetest.NewCluster(job)}
			c.cache = c.NewCache(true)
			caller := &cluster.Caller{Machine: machine.New(), Feeding: true}
			for c.Version() < heapEvents() {
				c.end()
				c.sync(t, caller)
			}
			NoError(t, c.EditJob(func(s *batchv1.JobSpec) { *s.Parallelism = tc.left }))
			for range 30 {
				c.sync(t, caller)
			}
			Same(t, "pods left", len(c.Pods()), int(tc.left))

			fresh := &cluster.Caller{Machine: machine.New(), Feeding: true}
			c.sync(t, fresh)
			c.Restart(c.Pods()[0].UID)
			c.sync(t, fresh)
			with := heap()
			caller.Machine = nil
			without := heap()
			fresh.Machine = nil
			got, want := with-without, without-heap()
			runtime.KeepAlive(c)
			runtime.KeepAlive(caller)
			runtime.KeepAlive(fresh)
			t.Logf("after %d events: %d bytes, a new Machine with the same pods: %d", c.Version(), got, want)
			if ratio := float64(got) / float64(want); ratio > tc.ratio {
				t.Errorf("after %d events the Machine keeps %.1f times as much as a new one with the same pods, want at most %v",
					c.Version(), ratio, tc.ratio)
			}
		})
	}
}
