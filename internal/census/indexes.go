package census

import "github.com/jobfate/jobfate/indexset"

// numbers holds the number of pods of each index.
type numbers struct{ pages[int32] }

// add adds to the number of an index, and reports whether the index was added or removed
// by that.
func (n *numbers) add(index, by int32) bool {
	before := n.at(index)
	n.set(index, before+by)
	return before == 0 || before+by == 0
}

// indexes returns the indexes of pods.
func (n *numbers) indexes() indexset.Set {
	indexes := make([]int32, 0, 16*n.len())
	for index := range n.values() {
		indexes = append(indexes, index)
	}
	return indexset.Of(indexes...)
}

// joined is the union of a set of indexes of the status and the indexes of pods. It is
// computed when it is needed.
//
// Invariant: if valid, set with added is the union of base and the indexes of pods.
type joined struct {
	base  indexset.Set
	pods  numbers
	set   indexset.Set
	valid bool
	added []int32 // indexes that pods have added since set was computed
}

// count adds to the number of pods of an index.
func (j *joined) count(index, by int32) {
	changed := j.pods.add(index, by)
	switch {
	case !changed || !j.valid:
	case by == 1:
		j.added = append(j.added, index)
	case !j.base.Contains(index):
		j.valid = false
	}
}

func (j *joined) contains(index int32) bool { return j.pods.at(index) > 0 || j.base.Contains(index) }

// rebase replaces the set of the status, and reports whether the union may have changed. It has not
// changed if the status has just recorded the indexes of the pods.
func (j *joined) rebase(base indexset.Set) (changed bool) {
	if base.Equal(j.base) {
		return false
	}
	recorded := j.valid && base.Equal(j.union())
	j.base, j.valid = base, recorded
	return !recorded
}

// union returns the set.
func (j *joined) union() indexset.Set {
	if !j.valid {
		j.set, j.valid, j.added = j.base.Union(j.pods.indexes()), true, nil
	}
	j.set, j.added = j.set.Union(indexset.Of(j.added...)), nil
	return j.set
}

// indexed is the state of the indexes of an Indexed Job.
type indexed struct {
	// allFailing is the set of failing indexes that the last results were computed from.
	allFailing indexset.Set
	// succeeded and failing are the indexes that are done according to the status or to
	// pods that carry the finalizer. An index in failing may have succeeded too.
	succeeded, failing joined
	// running and ending hold the valid indexes of active and of terminating pods. runs is the number of running.
	running, ending numbers
	runs            int32
	// failed holds, for each index, its last pod in the list failures. failedIndexes is the number
	// of these indexes.
	failed        pages[*Record]
	failedIndexes int32
	// vacant holds the indexes that may get a new pod; nil until they are needed. vacancies is their number.
	//
	// Invariant: the intervals are not empty and do not touch each other.
	vacant    *ordered[indexset.Interval]
	vacancies int
}

// countIndex adds a record to the state of its index, or removes it. Without a valid index
// it does nothing.
func (c *Census) countIndex(r *Record, by int32) {
	if !c.classifier.Indexed || !r.Valid {
		return
	}
	if r.Active && c.running.add(r.Index, by) {
		c.runs += by
	}
	if r.Terminating {
		c.ending.add(r.Index, by)
	}
	if r.Succeeded && r.Finalized {
		c.succeeded.count(r.Index, by)
	}
	if c.classifier.PerIndex() {
		if r.FailsIndex() && r.Finalized {
			c.failing.count(r.Index, by)
		}
		if r.replaceable() {
			c.countFailed(r, by)
		}
	}
	if c.vacant != nil {
		c.putVacant(r.Index, !c.occupied(r.Index))
	}
}

// IndexResults holds the indexes of an Indexed Job that are done.
type IndexResults struct {
	// Completed lists those of the status, and of pods that have succeeded since.
	Completed indexset.Set
	// Failed lists the failed indexes without the completed ones.
	Failed indexset.Set
}

// IndexResults sets the completed and failed indexes of the status as SetDone does, and
// returns the indexes that are done. An index fails when one of its failed pods has used up
// the limit or matches a FailIndex rule (KEP-3850 § Tracking the number of failures per
// index).
func (c *Census) IndexResults(completed, failed indexset.Set) IndexResults {
	if c.indexed == nil {
		return IndexResults{}
	}
	c.SetDone(completed, failed)
	all, done := c.failing.union(), c.succeeded.union()
	if !all.Equal(c.allFailing) || !done.Equal(c.Results.Completed) {
		c.Results.Failed = all.Difference(done)
	}
	c.allFailing, c.Results.Completed = all, done
	return c.Results
}

// Counted returns the completed indexes of the status, within completions.
func (c *Census) Counted() (none indexset.Set) {
	if c.indexed == nil {
		return none
	}
	return c.succeeded.base
}

// SetDone sets the completed and failed indexes of the status.
func (c *Census) SetDone(completed, failed indexset.Set) {
	if !c.classifier.Indexed {
		return
	}
	changed := c.succeeded.rebase(completed.Clip(c.classifier.Completions))
	if c.classifier.PerIndex() {
		changed = c.failing.rebase(failed.Clip(c.classifier.Completions)) || changed
	}
	if changed { // both are computed again when they are needed
		c.lists[countable], c.vacant = nil, nil
	}
}

// done reports whether an index needs no further pod.
func (x *indexed) done(index int32) bool {
	return x.succeeded.contains(index) || x.failing.contains(index)
}

// Misplaced reports whether an active pod has no valid index, or the same index as another
// active pod.
func (c *Census) Misplaced() bool {
	return c.classifier.Indexed && c.Active != c.runs
}
