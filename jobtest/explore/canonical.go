package explore

import (
	"time"

	"github.com/jobfate/jobfate/jobtest/cluster"
)

// noon is the time of all states.
var noon = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

// computed holds values by their keys, and computes each once. The zero value is empty.
type computed[K comparable, V any] map[K]V

func (c *computed[K, V]) get(key K, compute func() V) V {
	v, ok := (*c)[key]
	if !ok {
		v = compute()
		if *c == nil {
			*c = computed[K, V]{}
		}
		(*c)[key] = v
	}
	return v
}

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
	return x.lasting.get(n, func() uint32 { return x.memoryNumber(x.memories.values[n].ofLastingJob()) })
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
		used |= x.used(&x.parked.values[s.other].state)
	}
	return used
}

// forget makes the ghost forget the pods that are no longer referenced.
func (x *search) forget(s *state) uint32 {
	key := forgottenKey{s.ghost, x.used(s)}
	return x.forgotten.get(key, func() uint32 {
		g := x.ghosts.values[key.ghost].Clone()
		for i, uid := range uids {
			if key.used&(1<<i) == 0 {
				g.Forget(uid)
			}
		}
		return x.ghostNumber(g)
	})
}

// jobMentions and memoryMentions return the places that a Job and a memory refer to, as
// bits.
func (x *search) jobMentions(n uint16) uint8 {
	if n == 0 {
		return 0
	}
	return x.mentions.get(n, func() uint8 {
		if u := x.jobs.values[n].Status.UncountedTerminatedPods; u != nil {
			return mentioned(encoded(u))
		}
		return 0
	})
}

func (x *search) memoryMentions(n uint32) uint8 {
	return x.remembers.get(n, func() uint8 { return mentioned(x.memories.values[n].key()) })
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
	if other := x.parked.values[s.other]; other.at == 0 && s.other != 0 {
		other.state = x.aged(&other.state, by)
		next.other = x.parked.number(other, other)
	} else {
		next.other = 0 // a sync has one time
	}
	return next
}

func (x *search) agedMemoryOf(n uint32, by time.Duration) uint32 {
	return x.agedMemory.get(agedKey{n, by}, func() uint32 {
		c := x.memories.values[n].clone()
		c.age(by, x.limit)
		return x.memoryNumber(c)
	})
}

// agedJob and agedPod return the number of the older version. Zero stays zero.
func (x *search) agedJob(n uint16, by time.Duration) uint16 {
	if n == 0 {
		return 0
	}
	return x.agedJobs.get(agedKey{uint32(n), by},
		func() uint16 { return x.jobNumber(x.ageJob(x.jobs.values[n], by)) })
}

func (x *search) agedPod(n uint16, by time.Duration) uint16 {
	if n == 0 {
		return 0
	}
	return x.agedPods.get(agedKey{uint32(n), by},
		func() uint16 { return x.podNumber(x.agePod(x.pods.values[n], by)) })
}

type editKey struct {
	job   uint16
	which uint8
}

// edited returns the Job after an edit of its spec, and computes it once. It is zero if the
// API server rejects the edit.
func (x *search) edited(n uint16, which uint8) uint16 {
	return x.editedJobs.get(editKey{n, which}, func() uint16 {
		next, err := cluster.EditJob(x.job(n, versionOther), x.Edits[which])
		if err != nil {
			return 0
		}
		return x.jobNumber(next)
	})
}
