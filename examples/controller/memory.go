package main

import (
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// memory is what is remembered of one Job between two turns. Only the worker
// whose turn it is touches it: the queue hands out a Job to one at a time.
type memory struct {
	uid types.UID
	// fresh says that the cache shows all that an earlier process did to the Job.
	fresh   bool
	backoff backoff.Record
	// sure says that the last status was stored. Without it, a write whose answer
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
	pod string    // its name
	uid types.UID // unknown when the answer to a creation was lost
	// version is the pod's resource version after a finalizer was removed; none if
	// the pod went with it.
	version string
	// ask is when to ask the server for a pod that was created and is not to be
	// seen. It may be gone already, or never have been there.
	ask time.Time
}

const (
	// A creation whose answer was lost is given this long to be carried out. The
	// server gives a request up when nobody waits for its answer any more.
	doubt = 5 * time.Second
	// A pod that was surely created is missed only after a time, for a cache may
	// lag.
	miss = time.Minute
)

// memories are found by the name of the Job, and are of its UID.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

// of returns the memory of a Job. What was remembered of an earlier Job of the
// same name is forgotten.
func (s *memories) of(job *batchv1.Job) *memory {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.all[nameOf(job)]
	if m == nil || m.uid != job.UID {
		m = &memory{uid: job.UID}
		s.all[nameOf(job)] = m
	}
	return m
}

// untouched reports whether a Job has no status. Nobody has counted a pod of it, if
// that is so and not only seen so: a status that can be stored shows that it is.
func untouched(job *batchv1.Job) bool {
	return job.Status.StartTime == nil && len(job.Status.Conditions) == 0
}

func (s *memories) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}

// forgetSeen forgets the writes whose effect is to be seen, and those that
// somebody has undone. find returns a pod by its name, or nil.
func (m *memory) forgetSeen(job *batchv1.Job, find func(name string) *corev1.Pod) {
	if !older(job.ResourceVersion, m.stored) {
		m.stored = ""
	}
	forget := func(list []write, seen func(w write, pod *corev1.Pod) bool) []write {
		return slices.DeleteFunc(list, func(w write) bool {
			pod := find(w.pod)
			if pod != nil && w.uid != "" && pod.UID != w.uid {
				pod = nil
			}
			return seen(w, pod)
		})
	}
	m.created = forget(m.created, func(_ write, pod *corev1.Pod) bool { return pod != nil })
	m.deleted = forget(m.deleted, func(_ write, pod *corev1.Pod) bool { return pod == nil || pod.DeletionTimestamp != nil })
	m.stripped = forget(m.stripped, func(w write, pod *corev1.Pod) bool {
		return pod == nil || !(tracking.Keys{}).HasFinalizer(pod) || older(w.version, pod.ResourceVersion) && w.version != ""
	})
}

// askForMissed asks for the pods that should have been seen by now. Those that
// are not there are not waited for any longer.
func (m *memory) askForMissed(now time.Time, get func(name string) (*corev1.Pod, error)) error {
	var left []write
	for i, w := range m.created {
		if !w.ask.After(now) {
			pod, err := get(w.pod)
			switch {
			case apierrors.IsNotFound(err), err == nil && w.uid != "" && pod.UID != w.uid:
				continue
			case err != nil:
				m.created = append(left, m.created[i:]...)
				return err
			}
			w.uid, w.ask = pod.UID, now.Add(miss)
		}
		left = append(left, w)
	}
	m.created = left
	return nil
}

// nextAsk returns how long it is until a pod is to be asked for; 0 for none.
func (m *memory) nextAsk(now time.Time) (wait time.Duration) {
	for _, w := range m.created {
		wait = least(wait, max(w.ask.Sub(now), time.Second))
	}
	return wait
}

// rememberStripped remembers that a pod has lost its finalizer. What is left of
// the pod is nil when it is gone.
func (m *memory) rememberStripped(pod, left *corev1.Pod) {
	w := write{pod: pod.Name, uid: pod.UID}
	if left != nil && !goneWithFinalizer(left) {
		w.version = left.ResourceVersion
	}
	m.stripped = append(m.stripped, w)
}

// goneWithFinalizer reports whether the last finalizer was all that kept a pod.
// The server then answers with the pod without the finalizer, and with the
// resource version that it had with it.
func goneWithFinalizer(left *corev1.Pod) bool {
	grace := left.DeletionGracePeriodSeconds
	return left.DeletionTimestamp != nil && len(left.Finalizers) == 0 && (grace == nil || *grace == 0)
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
// cannot be compared is older until it is the same; none is never newer.
func older(version, than string) bool {
	if than == "" {
		return false
	}
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
