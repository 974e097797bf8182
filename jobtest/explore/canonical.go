package explore

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/cluster"
)

type (
	jobVersion = batchv1.Job
	podVersion = corev1.Pod
)

// noon is the time of all states.
var noon = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

// canonical makes states equal if their differences have no effect. Before is the state before
// the last move.
func (x *search) canonical(before, s *state) {
	x.keepSince(before, s)
	if x.lasts(s) {
		s.memory = x.ofLastingJob(s.memory)
	}
	if s.faults == 0 {
		s.other = 0 // it never continues
	}
	s.ghost = x.forget(s)
}

// lasts reports whether the Job is never deleted from here on.
func (x *search) lasts(s *state) bool {
	job := x.jobs.values[s.job]
	return job != nil && job.DeletionTimestamp == nil && (s.faults == 0 || !x.deletes)
}

// ofLastingJob returns a memory without what matters only when the Job is gone.
func (x *search) ofLastingJob(n uint32) uint32 {
	keeper, ok := x.memories.values[n].(jobKeeper)
	if !ok {
		return n
	}
	to, ok := x.lasting[n]
	if !ok {
		to = x.memoryNumber(keeper.ofLastingJob())
		x.lasting[n] = to
	}
	return to
}

type forgottenKey struct {
	ghost uint32
	used  uint8
}

// used returns the places that are referenced, as bits.
func (x *search) used(s *state) uint8 {
	used := x.jobMentions(s.job) | x.jobMentions(s.seenJob) | x.memoryMentions(s.memory)
	if s.at != 0 {
		used |= x.positions[s.at].mentions
	}
	for i := range s.pods {
		if !s.empty(i) {
			used |= 1 << i
		}
	}
	if s.other != 0 {
		used |= x.used(&x.parked[s.other].state)
	}
	return used
}

// forget makes the ghost forget the pods that are no longer referenced.
func (x *search) forget(s *state) uint32 {
	key := forgottenKey{s.ghost, x.used(s)}
	if n, ok := x.forgotten[key]; ok {
		return n
	}
	g := x.ghosts.values[s.ghost].Clone()
	for i, uid := range uids {
		if key.used&(1<<i) == 0 {
			g.Forget(uid)
		}
	}
	n := x.ghostNumber(g)
	x.forgotten[key] = n
	return n
}

// jobMentions and memoryMentions return the places that a Job and a memory refer to, as
// bits.
func (x *search) jobMentions(n uint16) uint8 {
	if n == 0 {
		return 0
	}
	bits, ok := x.mentions[n]
	if !ok {
		if u := x.jobs.values[n].Status.UncountedTerminatedPods; u != nil {
			bits = mentioned(encoded(u))
		}
		x.mentions[n] = bits
	}
	return bits
}

func (x *search) memoryMentions(n uint32) uint8 {
	bits, ok := x.remembers[n]
	if !ok {
		bits = mentioned(x.memories.values[n].Key())
		x.remembers[n] = bits
	}
	return bits
}

type agedKey struct {
	n  uint32
	by time.Duration
}

// aged returns a state after some time has passed.
func (x *search) aged(s *state, by time.Duration) state {
	next := *s
	next.job, next.seenJob, next.memory = x.agedJob(s.job, by), x.agedJob(s.seenJob, by), x.agedMemoryOf(s.memory, by)
	for i := range next.pods {
		p := &next.pods[i]
		p.stored, p.seen = x.agedPod(p.stored, by), x.agedPod(p.seen, by)
	}
	if other := x.parked[s.other]; other.at == 0 && s.other != 0 {
		other.state = x.aged(&other.state, by)
		next.other = x.parkedNumber(other)
	} else {
		next.other = 0 // a sync has one time
	}
	return next
}

func (x *search) agedMemoryOf(n uint32, by time.Duration) uint32 {
	key := agedKey{n, by}
	to, ok := x.agedMemory[key]
	if !ok {
		c := x.memories.values[n].Clone()
		c.Age(by, x.limit)
		to = x.memoryNumber(c)
		x.agedMemory[key] = to
	}
	return to
}

func (x *search) agedJob(n uint16, by time.Duration) uint16 {
	return older(x.agedJobs, n, by, func() uint16 { return x.jobNumber(x.ageJob(x.jobs.values[n], by)) })
}

func (x *search) agedPod(n uint16, by time.Duration) uint16 {
	return older(x.agedPods, n, by, func() uint16 { return x.podNumber(x.agePod(x.pods.values[n], by)) })
}

// older returns the number of the older version, and computes it once. Zero stays zero.
func older(known map[agedKey]uint16, n uint16, by time.Duration, age func() uint16) uint16 {
	if n == 0 {
		return 0
	}
	key := agedKey{uint32(n), by}
	to, ok := known[key]
	if !ok {
		to = age()
		known[key] = to
	}
	return to
}

type editKey struct {
	job   uint16
	which uint8
}

// edited returns the Job after an edit of its spec, and computes it once. It is zero if the
// API server rejects the edit.
func (x *search) edited(n uint16, which uint8) uint16 {
	key := editKey{n, which}
	to, ok := x.editedJobs[key]
	if !ok {
		if next, err := cluster.EditJob(x.job(n, versionOther), x.Edits[which]); err == nil {
			to = x.jobNumber(next)
		}
		x.editedJobs[key] = to
	}
	return to
}
