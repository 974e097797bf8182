package census

import (
	"maps"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// numbers are how many pods there are of each index, where there are any.
//
// Invariant: every number is above zero.
type numbers map[int32]int32

// add counts a pod more or less, and reports whether the index has come or gone. A new
// map gets room for as many pods as are expected.
func (n *numbers) add(index, by int32, expected int) bool {
	if *n == nil {
		*n = make(numbers, expected)
	}
	before := (*n)[index]
	if before+by == 0 {
		delete(*n, index)
	} else {
		(*n)[index] = before + by
	}
	return before == 0 || before+by == 0
}

// set returns the indexes.
func (n numbers) set() indexset.Set {
	indexes := make([]int32, 0, len(n))
	for index := range n {
		indexes = append(indexes, index)
	}
	return indexset.Of(indexes...)
}

// joined is a set of indexes of the status together with those that pods add.
//
// Invariant: with news, set is the union of base and the indexes of pods, if it is made.
type joined struct {
	base indexset.Set
	pods numbers
	set  indexset.Set
	made bool
	news []int32 // indexes that pods have added since
}

// count counts a pod of an index more or less.
func (j *joined) count(index, by int32, expected int) {
	switch changed := j.pods.add(index, by, expected); {
	case !changed || !j.made:
	case by > 0:
		j.news = append(j.news, index)
	case !j.base.Contains(index):
		j.made, j.news = false, nil
	}
}

func (j *joined) contains(index int32) bool { return j.pods[index] > 0 || j.base.Contains(index) }

// rebase replaces the set of the status, and reports whether an index may have come or
// gone by that. When the status has taken over what the pods have added, none has.
func (j *joined) rebase(base indexset.Set) (changed bool) {
	if base.Equal(j.base) {
		return false
	}
	taken := j.made && base.Equal(j.union())
	j.base = base
	if taken {
		j.set = base
		return false
	}
	j.made, j.news = false, nil
	return true
}

// union returns the set.
func (j *joined) union() indexset.Set {
	switch {
	case !j.made:
		j.set, j.made = j.base.Union(j.pods.set()), true
	case len(j.news) > 0:
		j.set = j.set.Union(indexset.Of(j.news...))
	}
	j.news = nil
	return j.set
}

func (j joined) clone() joined {
	j.pods, j.news = maps.Clone(j.pods), slices.Clone(j.news)
	return j
}

// indexed is what is known of the indexes of an Indexed Job.
type indexed struct {
	// results are those that were last asked for, made of all of allFailing.
	results    IndexResults
	allFailing indexset.Set
	// succeeded and failing are the indexes that are done: those of the status, and
	// those of pods that carry the finalizer. An index of failing may have succeeded.
	succeeded, failing joined
	// running and ending are the valid indexes of active and of terminating pods.
	running, ending numbers
	// failed holds, for each index, the last of its pods in the list of failures.
	failed map[int32]*Record
	vacant *vacancies // nil until they are needed
}

func (x *indexed) clone() indexed {
	next := *x
	next.succeeded, next.failing = x.succeeded.clone(), x.failing.clone()
	next.running, next.ending, next.failed = maps.Clone(x.running), maps.Clone(x.ending), maps.Clone(x.failed)
	next.vacant = x.vacant.clone()
	return next
}

// countIndex counts a record in or out where it has an index.
func (c *Census) countIndex(r *Record, by int32) {
	if !c.classifier.Indexed || !r.Valid {
		return
	}
	if r.Active {
		c.running.add(r.Index, by, c.expected())
	}
	if r.Terminating {
		c.ending.add(r.Index, by, c.expected())
	}
	if r.Succeeded && r.Finalized {
		c.succeeded.count(r.Index, by, c.expected())
	}
	if c.classifier.PerIndex() {
		if c.fails(r) {
			c.failing.count(r.Index, by, c.expected())
		}
		if r.replaceable() {
			c.countFailed(r, by)
		}
	}
	if c.vacant != nil {
		c.vacant.put(r.Index, !c.occupied(r.Index))
	}
}

// fails reports whether the failure of a pod is the end of its index.
func (c *Census) fails(r *Record) bool {
	return r.Failed && r.Finalized && !r.Ignored && (r.FailsIndex || c.classifier.Limit.IndexExhausted(r.Counts.Failures))
}

// IndexResults are the indexes of an Indexed Job that are done.
type IndexResults struct {
	// Counted are the completed indexes of the status, within completions.
	Counted indexset.Set
	// Completed adds those whose pod has succeeded since.
	Completed indexset.Set
	// Failed are the failed indexes. No index is both completed and failed: a
	// success wins.
	Failed indexset.Set
}

// IndexResults returns the indexes that are done, given those of the status. An index
// fails when a failed pod of it has used up the limit, or matches a FailIndex rule
// (KEP-3850 § Tracking the number of failures per index). What else the census says of
// indexes is about these.
func (c *Census) IndexResults(completed, failed indexset.Set) IndexResults {
	c.SetDone(completed, failed)
	c.results.Counted = c.succeeded.base
	all, done := c.failing.union(), c.succeeded.union()
	if !all.Equal(c.allFailing) || !done.Equal(c.results.Completed) {
		c.results.Failed = all.Difference(done)
	}
	c.allFailing, c.results.Completed = all, done
	return c.results
}

// SetDone says which indexes the status holds as completed and as failed.
func (c *Census) SetDone(completed, failed indexset.Set) {
	if !c.classifier.Indexed {
		return
	}
	changed := c.succeeded.rebase(completed.Clip(c.classifier.Completions))
	if c.classifier.PerIndex() {
		changed = c.failing.rebase(failed.Clip(c.classifier.Completions)) || changed
	}
	if changed { // what depends on it is made anew
		c.lists[countable], c.vacant = nil, nil
	}
}

// done reports whether an index needs no further pod.
func (x *indexed) done(index int32) bool {
	return x.succeeded.contains(index) || x.failing.contains(index)
}

// Misplaced reports whether an active pod has no valid index, or that of another.
func (c *Census) Misplaced() bool {
	return c.classifier.Indexed && int(c.Active) != len(c.running)
}
