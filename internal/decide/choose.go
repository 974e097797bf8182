package decide

import "time"

// choice is the result of chooseIndexes: the indexes that get a pod now, and the shortest
// delay of the considered indexes that are backing off (0 if none is).
type choice struct {
	ready []int32
	wait  time.Duration
}

// chooseIndexes picks up to the given number of indexes that have no pod and need
// one, the lowest first.
//
// An index that is backing off uses up a place unless FillFreeSlots is set, because the
// Job controller picks indexes before it checks their delays.
func (v *View) chooseIndexes(count int) choice {
	var c choice
	picked := 0
	for index := range v.Census.Vacant() {
		if picked == count {
			break
		}
		left := v.IndexDelay(index)
		if left == 0 {
			c.ready = append(c.ready, index)
			picked++
			continue
		}
		if c.wait == 0 || left < c.wait {
			c.wait = left
		}
		if !v.Config.FillFreeSlots {
			picked++
		}
	}
	return c
}

// IndexDelay returns how long an index must wait for its next pod (KEP-3850 §
// Exponential backoff delay per index).
func (v *View) IndexDelay(index int32) time.Duration {
	failed := v.Census.Predecessor(index)
	if failed == nil {
		return 0
	}
	failures := failed.Counts.Next(true).Total()
	return v.Config.Backoff.Remaining(failures, failed.Finish(), v.Now)
}
