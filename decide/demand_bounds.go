package decide

import (
	"math"
	"slices"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/lifecycle"
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
	if s.PerIndex() {
		indexes := max(min(u.failed, s.spent), -s.mayFail())
		u.finished, u.failed = indexes, max(0, u.failed-indexes)
	}
	if s.workQueue {
		u.finished = s.uncredited
	}
	satisfied := int64(0) // the most completed indexes beyond the last before a rule was satisfied
	for _, r := range s.successPolicy {
		satisfied = max(satisfied, 1-s.lacks(r))
	}
	u.finished += satisfied
	return u
}

// lacks returns how many more of the rule's indexes must complete; 0 or less if the rule is
// satisfied.
func (s *supply) lacks(r lifecycle.SuccessRule) int64 {
	return int64(max(r.Need, 1) - r.Named.IntersectionLen(s.completed))
}

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
	most := s.mostFollowing()
	if s.closed || most == unbounded {
		return most
	}
	return most + s.recreated()
}

// recreated returns how many pods a controller may create in place of those that it deletes for
// suspensions before the last one. Deleted pods do not count.
func (s *supply) recreated() int64 { return s.lag * min(s.parallelism, s.remaining()) }

// mostFollowing returns how many pods a controller may still create if it does not delete pods for a
// suspension before.
func (s *supply) mostFollowing() int64 {
	switch {
	case s.closed, s.remaining() == 0:
		return 0
	case s.workQueue && s.succeeded > 0 && !s.byPod:
		// After a success no pod is created. But the status may lack pods that were
		// created before it, when the pods that have succeeded were still active.
		return max(0, s.parallelism-s.succeeded-s.active)
	}
	var most int64
	u := s.unobservedEnd()
	switch {
	case u != unobservedEnd{}:
		most = min(s.parallelism-u.finished, s.remaining()) - u.failed - s.active - s.notReplaced()
	case s.ignores:
		return unbounded
	default:
		// Each pod except the last ones succeeds, or fails and is replaced.
		most = s.startable() + int64(s.Limit.PerJob) - s.failed - s.expected + s.surplus()
	}
	if s.PerIndex() {
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
	most := s.remaining()
	for _, r := range s.successPolicy { // the indexes that may complete before the rule is satisfied
		named := int64(r.Named.IntersectionLen(s.unfinished))
		most = min(most, s.remaining()-named+min(named, max(0, s.lacks(r)-1))+s.parallelism)
	}
	return most
}

// mostByIndex returns how many pods may still be created according to the limits per index.
func (s *supply) mostByIndex() int64 {
	most := s.retriesOf(s.remaining())
	if !s.byPod {
		most -= s.expected
	}
	// A success policy ends the Job before some indexes have had their last pod. An
	// index that fails with its last pod does not bring that end nearer.
	return most - max(0, s.remaining()-s.startable()-max(0, s.mayFail()))
}

// retriesOf returns how many pods may be created for the n unfinished indexes that may have
// the fewest, according to the limits per index and the known pods.
func (s *supply) retriesOf(n int64) int64 {
	var touched []int64
	for index, left := range s.retries {
		if s.unfinished.Contains(index) {
			touched = append(touched, left)
		}
	}
	slices.Sort(touched)
	touched = touched[:min(n, int64(len(touched)))]
	pods := (n - int64(len(touched))) * (int64(s.Limit.PerIndex) + 1)
	for _, left := range touched {
		pods += left
	}
	return pods
}

// mostAtOnce returns how many pods may run at the same time if the given number of pods is
// created from now on.
func (s *supply) mostAtOnce(created int64) int64 {
	want := min(s.parallelism, s.remaining())
	most := max(s.running(), want)
	if !s.ReplaceFailedOnly {
		most = max(s.active, want+s.surplus()) + s.terminating + s.recreated()
	}
	return min(most, s.running()+created)
}

// leastCreated returns how many pods must still be created. It is the minimum over all ways
// in which the Job can end.
func (s *supply) leastCreated() int64 {
	if s.closed || s.mayStop || s.verdicts > 0 {
		return 0
	}
	least := min(s.leastToComplete(), s.leastToSatisfy(), s.leastToFailIndexes(),
		int64(s.Limit.PerJob)+1-s.failed-s.hopeful)
	if s.failsJob {
		least = min(least, 1-s.running())
	}
	return max(0, least)
}

// leastToComplete returns how many pods must still be created if every pod succeeds from now
// on.
func (s *supply) leastToComplete() int64 {
	switch {
	case s.workQueue:
		return 1 - s.succeeded - s.hopeful
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
	least := int64(math.MaxInt64)
	for _, r := range s.successPolicy {
		named := r.Named.Intersection(s.unfinished)
		// Not s.lacks: a count of 0, which the API server rejects, needs no pod.
		if lacks := int64(r.Need - r.Named.IntersectionLen(s.completed)); lacks <= int64(named.Len()) {
			least = min(least, lacks-s.covers(named, s.lateCompleted))
		}
	}
	return least
}

// leastToFailIndexes returns how many pods must still be created to exceed maxFailedIndexes.
// The fewest are needed if the indexes with the fewest retries left fail.
func (s *supply) leastToFailIndexes() int64 {
	lacks := max(0, s.mayFail()+1-int64(s.unfinished.IntersectionLen(s.lateFailed)))
	switch {
	case lacks > s.remaining():
		return math.MaxInt64
	case s.failsIndex:
		return lacks - s.covers(s.unfinished, indexset.Set{})
	case !s.byPod:
		return max(lacks, s.retriesOf(lacks)-s.failed) - s.hopeful
	}
	return s.retriesOf(lacks)
}
