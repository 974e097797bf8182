package jobstatus

import (
	"math"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// A controller may be in the middle of a sync, and may have decided how many pods to create
// before it observed that the last pods have ended. So pods that end the Job do not stop
// creations at once, while a status that says so does. But such a sync still counted these
// pods as active, so it creates one pod less for each of them.

// unobservedEnd counts pods that have ended and that a controller which still creates pods
// cannot have observed, because they end the Job. It is zero if the Job does not end.
type unobservedEnd struct {
	finished int64 // pods that have succeeded, or whose index has failed
	failed   int64 // pods that have failed and would have to be replaced
}

func (s *supply) unobservedEnd() (u unobservedEnd) {
	u.failed = s.verdicts + max(0, s.failed-s.verdicts-int64(s.Limit.PerJob))
	if s.perIndex {
		indexes := min(u.failed, s.spent)
		if m := s.maxFailedIndexes; m != nil {
			indexes = max(indexes, int64(s.failedIndexes.Len())-int64(*m))
		}
		u.finished, u.failed = indexes, max(0, u.failed-indexes)
	}
	if s.workQueue {
		u.finished = s.uncredited
	}
	u.finished += s.successRules.surplus(s.completed)
	return u
}

func (u unobservedEnd) any() bool { return u != unobservedEnd{} }

// notReplaced returns how many terminating pods a controller that has not observed the end
// does not replace: with the pod replacement policy Failed all of them, otherwise those that
// it cannot have counted as failed.
func (s *supply) notReplaced() int64 {
	if s.ReplaceFailedOnly {
		return s.terminating
	}
	return min(s.expectedTerminating, max(0, s.failed+s.expectedTerminating-int64(s.Limit.PerJob)))
}

// unbounded means any number of pods. It is more than any Job can create otherwise, and
// adding the running pods to it does not overflow.
const unbounded = math.MaxInt64 / 2

// mostCreated returns how many pods may still be created.
func (s *supply) mostCreated() int64 {
	switch {
	case s.closed, s.parallelism == 0, s.remaining() == 0, s.byPod && s.workQueue && s.succeeded > s.uncredited:
		return 0
	case s.workQueue && s.succeeded > 0 && !s.byPod:
		// After a success no pod is created. But the status may lack pods that were
		// created before it, when the pods that have succeeded were still active.
		return max(0, s.parallelism-s.succeeded-s.active)
	}
	var most int64
	switch u := s.unobservedEnd(); {
	case u.any():
		most = min(s.parallelism-u.finished, s.remaining()) - u.failed - s.active - s.notReplaced()
	case s.ignores:
		return unbounded
	default:
		// Each pod except the last ones succeeds, or fails and is replaced.
		most = s.startable() + int64(s.Limit.PerJob) - s.failed - s.expected + s.surplus()
	}
	if s.perIndex {
		most = min(most, s.mostByIndex()+s.surplus())
	}
	return max(0, most)
}

// surplus returns how many pods the controller may delete because more are active than the
// Job needs. Deleted pods do not count, and others may be created in their place. There is a
// surplus only after a change of the spec. A controller that has not observed the end of the
// last pods may then delete further pods.
func (s *supply) surplus() int64 {
	if !s.edited {
		return 0
	}
	lacking := s.remaining() + s.uncredited
	return min(s.active, max(0, s.active+s.unaccounted-min(s.parallelism, lacking)))
}

// startable returns how many pods can succeed, or can be running when the Job ends.
func (s *supply) startable() int64 {
	if s.workQueue {
		return s.parallelism
	}
	if len(s.successRules) == 0 {
		return s.remaining()
	}
	return min(s.remaining(), s.successRules.before(s.completed, s.unfinished)+s.parallelism)
}

// mostByIndex returns how many pods may still be created according to the limits per index.
func (s *supply) mostByIndex() int64 {
	most := s.remaining()*s.perIndexPods() - s.expected
	if s.byPod {
		touched := s.retriesLeft()
		most = (s.remaining()-int64(len(touched)))*s.perIndexPods() + sum(touched)
	}
	// A success policy ends the Job before some indexes have had their last pod. An
	// index that fails with its last pod does not bring that end nearer.
	last := s.startable()
	if m := s.maxFailedIndexes; m != nil {
		last += max(0, int64(*m)-int64(s.failedIndexes.Len()))
	} else {
		last = s.remaining()
	}
	return most - max(0, s.remaining()-last)
}

func (s *supply) perIndexPods() int64 { return int64(s.Limit.PerIndex) + 1 }

// retriesLeft returns how many pods may be created for each unfinished index that has had a
// pod, in increasing order.
func (s *supply) retriesLeft() (touched []int64) {
	for index, left := range s.retries {
		if s.unfinished.Contains(index) {
			touched = append(touched, left)
		}
	}
	slices.Sort(touched)
	return touched
}

func sum(numbers []int64) (n int64) {
	for _, more := range numbers {
		n += more
	}
	return n
}

// mostAtOnce returns how many pods may run at the same time if the given number of pods is
// created from now on.
func (s *supply) mostAtOnce(created int64) int64 {
	want := min(s.parallelism, s.remaining())
	most := max(s.running(), want)
	if !s.ReplaceFailedOnly {
		most = max(s.active, want+s.surplus()) + s.terminating
	}
	return min(most, s.running()+created)
}

// leastCreated returns how many pods must still be created. It is the minimum over all ways
// in which the Job can end.
func (s *supply) leastCreated() int64 {
	if s.closed || s.closing || s.parallelism == 0 || s.hasDeadline || s.verdicts > 0 {
		return 0
	}
	least := min(s.leastToComplete(), s.leastToSatisfy(), int64(s.Limit.PerJob)+1-s.failed-s.hopeful)
	if s.failsJob || s.CountRestarts {
		least = min(least, 1-s.running())
	}
	if s.maxFailedIndexes != nil {
		least = min(least, s.leastToFailIndexes())
	}
	return max(0, least)
}

// leastToComplete returns how many pods must still be created if every pod succeeds from now
// on.
func (s *supply) leastToComplete() int64 {
	switch {
	case s.workQueue && s.succeeded > 0:
		return 0
	case s.workQueue:
		return 1 - s.hopeful
	case s.Indexed:
		return s.remaining() - s.covers(s.unfinished, s.lateCompleted.Union(s.lateFailed))
	}
	return s.remaining() - s.hopeful
}

// covers returns how many of the indexes are late or have a pod that may finish them.
func (s *supply) covers(indexes, late indexset.Set) int64 {
	if s.byPod {
		return int64(indexes.IntersectionLen(s.open.Union(late)))
	}
	return min(s.hopeful, int64(indexes.Len()))
}

// leastToSatisfy returns how many pods must still be created to meet a rule of the success
// policy; the largest int64 if the Job has none.
func (s *supply) leastToSatisfy() int64 {
	return s.successRules.lacks(s.completed, s.unfinished, func(indexes indexset.Set) int64 {
		return s.covers(indexes, s.lateCompleted)
	})
}

// leastToFailIndexes returns how many pods must still be created to exceed maxFailedIndexes.
// The fewest are needed if the indexes with the fewest retries left fail.
func (s *supply) leastToFailIndexes() int64 {
	lacks := int64(*s.maxFailedIndexes) + 1 - int64(s.failedIndexes.Len()) - int64(s.unfinished.IntersectionLen(s.lateFailed))
	switch {
	case lacks <= 0:
		return 0
	case lacks > s.remaining():
		return math.MaxInt64
	case s.failsIndex:
		return lacks - s.covers(s.unfinished, indexset.Set{})
	case !s.byPod:
		return max(lacks-s.hopeful, lacks*s.perIndexPods()-s.failed-s.hopeful)
	}
	touched := s.retriesLeft()
	touched = touched[:min(lacks, int64(len(touched)))]
	return sum(touched) + (lacks-int64(len(touched)))*s.perIndexPods()
}
