package main

import (
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// memory is what is remembered of one Job between two turns. Only the worker
// whose turn it is touches it: the queue never hands out a name twice.
type memory struct {
	uid types.UID
	// fresh says that the cache shows everything that an earlier process wrote
	// about the Job.
	fresh   bool
	backoff backoff.Record
	// sure says that the last status was stored. Before that, a write whose answer
	// was lost, or that of an earlier process, may have recorded pods, and the
	// backoff record is made anew at each turn.
	sure bool
	// stored is the resource version of the last status, until the cache shows it.
	stored                     string
	created, deleted, stripped []write
	told                       told
}

// write is a write to a pod that the cache does not show yet.
type write struct {
	pod string // its name
	uid types.UID
	// version is the pod's resource version after a finalizer was removed.
	version string
	// ask is when to ask the server about a pod that was created and that the
	// cache does not show. It may be gone already, or never have been there.
	ask time.Time
}

const (
	// A creation whose answer was lost is given this long to be carried out. The
	// server gives a request up when nobody waits for its answer any more.
	doubt = 5 * time.Second
	// A pod that was surely created is missed only after this time, for a cache
	// may lag.
	miss = time.Minute
)

// memories hold the memory of each Job, found by its name.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

// of returns the memory of the Job. What was remembered of an earlier Job of the
// same name is forgotten.
func (s *memories) of(job *batchv1.Job) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: job.Namespace, Name: job.Name}
	m := s.all[key]
	if m == nil || m.uid != job.UID {
		if s.all == nil {
			s.all = make(map[types.NamespacedName]*memory)
		}
		// Nobody has counted a pod of a Job without a status.
		m = &memory{uid: job.UID, fresh: !hasStatus(job)}
		s.all[key] = m
	}
	return m
}

func (s *memories) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}

func hasStatus(job *batchv1.Job) bool {
	return job.Status.StartTime != nil || len(job.Status.Conditions) > 0 || job.Status.UncountedTerminatedPods != nil
}

// forgetSeen forgets the writes whose effect the cache shows, and those that
// somebody has undone. It comes before the pods are read for a snapshot, so that
// the snapshot shows them as well.
func (m *memory) forgetSeen(job *batchv1.Job, cached func(name string) *corev1.Pod) {
	if m.stored != "" && !older(job.ResourceVersion, m.stored) {
		m.stored = ""
	}
	forget := func(list []write, seen func(write, *corev1.Pod) bool) []write {
		return slices.DeleteFunc(list, func(w write) bool {
			pod := cached(w.pod)
			if pod != nil && w.uid != "" && pod.UID != w.uid {
				pod = nil
			}
			return seen(w, pod)
		})
	}
	m.created = forget(m.created, func(_ write, pod *corev1.Pod) bool { return pod != nil })
	m.deleted = forget(m.deleted, func(_ write, pod *corev1.Pod) bool { return pod == nil || pod.DeletionTimestamp != nil })
	m.stripped = forget(m.stripped, func(w write, pod *corev1.Pod) bool {
		return pod == nil || !tracking.HasFinalizer(pod) || !older(pod.ResourceVersion, w.version)
	})
}

// nextAsk returns how long it is until the server is to be asked; 0 when it need
// not be.
func (m *memory) nextAsk(now time.Time) (wait time.Duration) {
	for _, w := range m.created {
		wait = least(wait, max(w.ask.Sub(now), time.Second))
	}
	return wait
}

// inFlight returns what a decision has to know of the writes.
func (m *memory) inFlight() jobfate.InFlight {
	f := jobfate.InFlight{Job: m.uid, Status: m.stored != "", Creations: len(m.created), Deletions: len(m.deleted)}
	for _, w := range m.stripped {
		f.Stripped = append(f.Stripped, w.uid)
	}
	return f
}

// settled reports whether nothing is in flight.
func (m *memory) settled() bool {
	return m.stored == "" && len(m.created)+len(m.deleted)+len(m.stripped) == 0
}

// older reports whether one resource version is older than another. One that
// cannot be compared is taken as older until it is the same.
func older(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		return version != than
	}
	return order < 0
}

// least returns the lesser of two waits, where 0 is no wait.
func least(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
