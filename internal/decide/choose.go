package decide

import "time"

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
	looked := 0
	for index := range v.Census.Vacant() {
		if looked == count {
			break
		}
		left := v.IndexDelay(index)
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

// IndexDelay is how long an index must wait for its next pod (KEP-3850 §
// Exponential backoff delay per index).
func (v *View) IndexDelay(index int32) time.Duration {
	failed := v.Census.Predecessor(index)
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return v.Config.Backoff.Remaining(failures, failed.Finish(), v.Now)
}
