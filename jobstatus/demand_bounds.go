package jobstatus

import (
	"math"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// A controller may be in the middle of a sync, and have decided how many pods to
// create before the last pods ended. So what the pods show does not end the creation
// of pods at once, unlike what the status says. But a sync that has not seen an end
// counted that pod as active, which leaves it one pod less to create.

// unseenEnd is what a controller that still creates pods cannot have seen. It is zero
// when the Job goes on.
type unseenEnd struct {
	finished int64 // pods that have succeeded, or whose index has failed
	failed   int64 // pods that have failed, and have to be replaced
}

func (s *supply) unseenEnd() (u unseenEnd) {
	u.failed = s.verdicts + max(0, s.failed-s.verdicts-int64(s.limit.PerJob))
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

func (u unseenEnd) any() bool { return u != unseenEnd{} }

// stillPlaced returns how many terminating pods have a place that a controller that
// has not seen the end cannot fill: with the policy Failed all of them, and otherwise
// those that it cannot have seen as failed.
func (s *supply) stillPlaced() int64 {
	if !s.replacesAtOnce {
		return s.terminating
	}
	unseen := max(0, s.failed-int64(s.limit.PerJob))
	return min(s.expectedTerminating, max(0, s.failed+s.expectedTerminating-int64(s.limit.PerJob))-unseen)
}

// unbounded stands for pods without end. It is more than any Job may create otherwise,
// and leaves room to add the pods that run.
const unbounded = math.MaxInt64 / 2

// mostCreated returns how many pods may still be created.
func (s *supply) mostCreated() int64 {
	switch {
	case s.closed, s.parallelism == 0, s.remaining() == 0, s.byPod && s.workQueue && s.succeeded > s.uncredited:
		return 0
	case s.workQueue && s.succeeded > 0 && !s.byPod:
		// No pod is added, but the status may lack pods that were added before. When
		// they were, those that have succeeded were active.
		return max(0, s.parallelism-s.succeeded-s.active)
	}
	var most int64
	switch u := s.unseenEnd(); {
	case u.any():
		most = min(s.parallelism-u.finished, s.remaining()) - u.failed - s.active - s.stillPlaced()
	case s.ignores:
		return unbounded
	default:
		// Each pod but the last ones succeeds, or fails and is replaced.
		most = s.startable() + int64(s.limit.PerJob) - s.failed - s.expected + s.surplus()
	}
	if s.perIndex {
		most = min(most, s.mostByIndex()+s.surplus())
	}
	return max(0, most)
}

// surplus returns how many pods the controller may delete because there are too many
// of them. Such pods do not count, and others may take their place. There are too
// many only when the spec has changed. Then a controller that has not seen the last
// pods end may also delete others.
func (s *supply) surplus() int64 {
	if !s.edited {
		return 0
	}
	lacking := s.remaining() + s.uncredited
	return min(s.active, max(0, s.active+s.unaccounted-min(s.parallelism, lacking)))
}

// startable returns how many pods can succeed, or run when the Job ends.
func (s *supply) startable() int64 {
	if s.workQueue {
		return s.parallelism
	}
	if len(s.successRules) == 0 {
		return s.remaining()
	}
	return min(s.remaining(), s.successRules.before(s.completed, s.unfinished)+s.parallelism)
}

// mostByIndex is mostCreated by the limits of the indexes.
func (s *supply) mostByIndex() int64 {
	most := s.remaining()*s.perIndexPods() - s.expected
	if s.byPod {
		untouched, touched := s.retriesLeft()
		most = untouched * s.perIndexPods()
		for _, left := range touched {
			most += left
		}
	}
	if len(s.successRules) == 0 {
		return most
	}
	// Some indexes do not come to their last pod before the end. One that fails with
	// its last pod does not bring the end by the success policy nearer.
	last := s.startable()
	if m := s.maxFailedIndexes; m != nil {
		last += max(0, int64(*m)-int64(s.failedIndexes.Len()))
	} else {
		last = s.remaining()
	}
	return most - max(0, s.remaining()-last)
}

func (s *supply) perIndexPods() int64 { return int64(s.limit.PerIndex) + 1 }

// retriesLeft returns how many unfinished indexes have had no pod, and how many pods
// may be created for each of the others, the least first.
func (s *supply) retriesLeft() (untouched int64, touched []int64) {
	for index, left := range s.retries {
		if s.unfinished.Contains(index) {
			touched = append(touched, left)
		}
	}
	slices.Sort(touched)
	return s.remaining() - int64(len(touched)), touched
}

// mostAtOnce returns how many pods may run at the same time when the given number of
// them is created from now on.
func (s *supply) mostAtOnce(created int64) int64 {
	want := min(s.parallelism, s.remaining())
	most := max(s.running, want)
	if s.replacesAtOnce {
		most = max(s.active, want+s.surplus()) + s.terminating
	}
	return min(most, s.running+created)
}

// leastCreated returns how many pods must still be created: that is the least of what
// each way takes in which the Job can end.
func (s *supply) leastCreated() int64 {
	if s.closed || s.closing || s.parallelism == 0 || s.hasDeadline || s.verdicts > 0 {
		return 0
	}
	least := s.leastToComplete()
	for _, way := range []struct {
		open  bool
		takes func() int64
	}{
		{true, func() int64 { return int64(s.limit.PerJob) + 1 - s.failed - s.hopeful }},
		{s.failsJob || s.countsRestarts, func() int64 { return 1 - s.running }},
		{s.maxFailedIndexes != nil, s.leastToFailIndexes},
		{len(s.successRules) > 0, s.leastToSatisfy},
	} {
		if way.open {
			least = min(least, way.takes())
		}
	}
	return max(0, least)
}

// leastToComplete is for a Job of which every pod succeeds from now on.
func (s *supply) leastToComplete() int64 {
	switch {
	case s.workQueue && s.succeeded > 0:
		return 0
	case s.workQueue:
		return 1 - s.hopeful
	case s.indexed:
		return s.remaining() - s.covers(s.unfinished, s.lateCompleted.Union(s.lateFailed))
	}
	return s.remaining() - s.hopeful
}

// covers returns how many of the indexes have a pod that may finish them, or are late.
func (s *supply) covers(indexes, late indexset.Set) int64 {
	if s.byPod {
		return int64(indexes.IntersectionLen(s.open.Union(late)))
	}
	return min(s.hopeful, int64(indexes.Len()))
}

// leastToSatisfy is for a Job of which the pods succeed that a rule of the success policy
// needs.
func (s *supply) leastToSatisfy() int64 {
	return s.successRules.lacks(s.completed, s.unfinished, func(indexes indexset.Set) int64 {
		return s.covers(indexes, s.lateCompleted)
	})
}

// leastToFailIndexes is for a Job of which the indexes fail that have the fewest pods
// left.
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
	_, touched := s.retriesLeft()
	var least int64
	for i := int64(0); i < lacks; i++ {
		if i == int64(len(touched)) {
			return least + (lacks-i)*s.perIndexPods()
		}
		least += touched[i]
	}
	return least
}
