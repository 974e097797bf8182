package explore

// state is everything that can make a difference. Each number stands for a
// version in a table; zero is none.
type state struct {
	job, seenJob uint16
	pods         [MaxPods]place
	memory       uint32
	at           uint32 // the controller's position in a sync; zero between syncs
	ghost        uint32
	mark         mark
	behind       bool  // the cache of Jobs lacks a version that the controller knows
	past         bool  // the cache of Jobs lacks what was stored before the barrier or the last live read
	faults       uint8 // left
	edits        uint8 // made
}

// place is what there is of a pod.
type place struct {
	stored, seen uint16
	// mark says whether the pod is stored as the controller saw it when the sync
	// began, or as a later answer showed it.
	mark mark
	// past says that the cache shows the pod as it was before the controller started,
	// or before it last listed the pods live.
	past bool
}

// mark says which version of an object is stored, as far as a sync knows: the one
// that it saw, its own first or second write, one that it has read live or, of a
// pod, its own write, or one of which it does not know.
type mark uint8

const (
	unknown mark = iota
	asSeen
	firstWrite
	secondWrite
	asRead
)

// version is the resource version that a sync gets to see, or would. What the
// cache shows is behind when it lacks the controller's own last status.
func (m mark) version(behind bool) string {
	switch m {
	case asSeen:
		return seenVersion(behind)
	case firstWrite:
		return versionFirst
	case secondWrite:
		return versionSecond
	case asRead:
		return versionRead
	}
	return versionOther
}

func (s *state) empty(i int) bool { return s.pods[i].stored == 0 && s.pods[i].seen == 0 }

// current reports whether the caches show all that is stored.
func (s *state) current() bool { return s.lagging() == 0 }

// rest puts the controller between two syncs.
func (s *state) rest(memory uint32) {
	s.at, s.memory, s.mark = 0, memory, unknown
	for i := range s.pods {
		s.pods[i].mark = unknown
	}
}

// showPod lets the cache catch up with a pod.
func (s *state) showPod(i int) {
	p := &s.pods[i]
	p.seen, p.past = p.stored, false
}

// showJob lets the cache catch up with the Job.
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
