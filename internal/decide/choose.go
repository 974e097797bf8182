package decide

import (
	"time"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
)

// choice is which indexes get a pod now, and the least time that another of those
// that were looked at must wait.
type choice struct {
	ready []int32
	wait  time.Duration
}

// chooseIndexes picks up to the given number of indexes that have no pod and need
// one, the lowest first.
//
// An index that is backing off takes a place unless free slots are to be filled,
// because the Job controller picks indexes before it looks at delays.
func (v *View) chooseIndexes(count int) choice {
	var c choice
	looked, before := 0, v.Totals.Before.ByIndex
	for index := range v.occupied().Missing(*v.Spec.Completions) {
		if looked == count {
			break
		}
		for len(before) > 0 && before[0].Index < index {
			before = before[1:]
		}
		var failed *census.Record
		if len(before) > 0 && before[0].Index == index {
			failed = before[0]
		}
		left := v.delayAfter(failed)
		if left == 0 {
			c.ready = append(c.ready, index)
			looked++
			continue
		}
		if c.wait == 0 || left < c.wait {
			c.wait = left
		}
		if !v.Config.FillFreeSlots {
			looked++
		}
	}
	return c
}

// occupied are the indexes that get no new pod.
func (v *View) occupied() indexset.Set {
	set := v.Totals.Results.Finished().Union(v.Totals.Active)
	if v.Spec.ReplaceFailedOnly {
		set = set.Union(v.Census.TerminatingIndexes())
	}
	return set
}

// IndexDelay is how long an index must wait for its next pod (KEP-3850 §
// Exponential backoff delay per index).
func (v *View) IndexDelay(index int32) time.Duration { return v.delayAfter(v.Totals.Before.Of(index)) }

// delayAfter is how long the pod that replaces a failed one must wait; nil is none.
func (v *View) delayAfter(failed *census.Record) time.Duration {
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return v.Config.Backoff.Remaining(failures, failed.Finish(), v.Now)
}
