package explore

import (
	"cmp"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/jobtest/inside"
)

// state is a state of the search. Each number refers to a version in a table; zero means
// none.
type state struct {
	job, seenJob uint16
	pods         [maxPods]place
	memory       uint32
	at           uint32 // the position of the controller in a sync; zero between syncs
	ghost        uint32
	other        uint32 // the leader that is frozen; zero if there is none
	mark         mark
	behind       bool  // the cache of Jobs is older than the version that the controller knows
	past         bool  // the cache of Jobs is older than the barrier or the last live read
	since        uint8 // see keepSince; a bit for each place
	faults       uint8 // that may still happen
	edits        uint8 // so far
}

// place is a slot for a pod: its stored and its cached version.
type place struct {
	stored, seen uint16
	// mark says which version of the pod is stored, relative to the versions of the sync.
	mark mark
	// past says that the cached version is older than the start of the controller or its
	// last live list.
	past bool
}

// mark says which version of an object is stored, relative to the current sync: the version
// in the cache when the sync began, the first, second or third status of the sync, a version that
// it has read live, that of a pod which it has patched, or one that it does not know.
type mark uint8

const (
	unknown mark = iota
	asSeen
	firstWrite
	secondWrite
	thirdWrite
	asRead
	asPatched
)

// version returns the resource version that a sync sees for this mark. Behind says that the
// cache lacks the last status write of the controller.
func (m mark) version(behind bool) string {
	switch m {
	case asSeen:
		return seenVersion(behind)
	case firstWrite:
		return versionFirst
	case secondWrite:
		return versionSecond
	case thirdWrite:
		return versionThird
	case asRead:
		return versionRead
	case asPatched:
		return versionOwn
	}
	return versionOther
}

func (s *state) empty(i int) bool { return s.pods[i].stored == 0 && s.pods[i].seen == 0 }

// current reports whether the caches are up to date.
func (s *state) current() bool { return s.lagging() == 0 }

// rest ends the sync of the controller.
func (s *state) rest(memory uint32) {
	s.at, s.memory, s.mark = 0, memory, unknown
	for i := range s.pods {
		s.pods[i].mark = unknown
	}
}

// showPod makes the cache catch up with a pod.
func (s *state) showPod(i int) {
	p := &s.pods[i]
	p.seen, p.past = p.stored, false
}

// showJob makes the cache catch up with the Job.
func (s *state) showJob() { s.seenJob, s.behind, s.past = s.job, false, false }

// storeJob stores another version of the Job.
func (s *state) storeJob(version uint16, by mark) {
	s.job, s.mark = version, by
}

// storePod stores another version of a pod.
func (s *state) storePod(i int, version uint16) {
	if s.pods[i].stored != version {
		s.pods[i].stored, s.pods[i].mark = version, unknown
	}
	if s.pods[i].stored == s.pods[i].seen {
		s.pods[i].past = false
	}
}

// key returns the memory as text. Callers with equal options and equal keys behave the same. The search reads from it
// which pods are still referenced.
func (c caller) key() string {
	m := inside.Memory(c.Machine)
	lists := cmp.Or(m.Counted.Uncounted, &batchv1.UncountedTerminatedPods{}) // none is like empty ones
	return fmt.Sprintf("%s %s %v %v %d %q %q %d %d %v %v %v %v %v %v %q %q %q", m.Job, m.Gone, m.Sure,
		m.Backoff, m.LastStatus.UnixNano(), m.Known, m.Shown,
		m.Counted.Succeeded, m.Counted.Failed, lists.Succeeded, lists.Failed, m.ReadFirst, m.Created, m.Deleted,
		m.Stripped, m.Lost, m.JobsFloor, m.PodsFloor)
}

// age subtracts a duration from all times that the caller remembers, but makes none of them
// earlier than the limit.
func (c caller) age(by time.Duration, limit time.Time) {
	m := inside.Memory(c.Machine)
	m.Backoff.LastFailure = older(m.Backoff.LastFailure, by, limit)
	m.LastStatus = older(m.LastStatus, by, limit)
	created := m.Created[:0:0]
	for _, pod := range m.Created {
		pod.At = older(pod.At, by, limit)
		created = append(created, pod)
	}
	m.Created = created
}
