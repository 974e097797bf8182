package census

import (
	"cmp"
	"iter"
	"slices"

	"github.com/jobfate/jobfate/indexset"
)

// putVacant adds an index to the vacant ones or removes it, as vacant says.
func (x *indexed) putVacant(index int32, vacant bool) {
	v := x.vacant
	around, some := v.last(indexset.Interval{First: index + 1})
	inside := some && index <= around.Last
	if inside == vacant {
		return
	}
	if !vacant {
		x.vacancies--
		v.remove(around)
		for _, left := range [...]indexset.Interval{{First: around.First, Last: index - 1},
			{First: index + 1, Last: around.Last}} {
			if left.First <= left.Last {
				v.insert(left)
			}
		}
		return
	}
	x.vacancies++
	grown := indexset.Interval{First: index, Last: index}
	if some && around.Last == index-1 {
		v.remove(around)
		grown.First = around.First
	}
	if next := v.get(indexset.Interval{First: index + 1}); next != nil {
		grown.Last = next.Last
		v.remove(*next)
	}
	v.insert(grown)
}

// occupied reports whether an index must not get a new pod.
func (c *Census) occupied(index int32) bool {
	return c.done(index) || c.running.at(index) > 0 || c.classifier.ReplaceFailedOnly && c.ending.at(index) > 0
}

// findVacant makes the set of vacant indexes, unless there is one.
func (c *Census) findVacant() {
	if c.vacant != nil {
		return
	}
	occupied := c.succeeded.union().Union(c.failing.union()).Union(c.running.indexes())
	if c.classifier.ReplaceFailedOnly {
		occupied = occupied.Union(c.ending.indexes())
	}
	vacant := occupied.Complement(c.classifier.Completions)
	byFirst := func(a, b indexset.Interval) int { return cmp.Compare(a.First, b.First) }
	c.vacant, c.vacancies = newOrdered(byFirst, slices.Collect(vacant.Intervals())), vacant.Len()
}

// Vacancies returns the number of vacant indexes: those that are not done and have no
// active pod. With ReplaceFailedOnly they have no terminating pod either.
func (c *Census) Vacancies() int {
	if c.indexed == nil {
		return 0
	}
	c.findVacant()
	return c.vacancies
}

// Vacant yields the vacant indexes in increasing order, each with its [Census.Predecessor]. The caller
// reads the finish times of those pods, so they are loaded together.
func (c *Census) Vacant() iter.Seq2[int32, *Record] {
	return func(yield func(int32, *Record) bool) {
		if c.indexed == nil {
			return
		}
		c.findVacant()
		for next := range c.vacantStrides() {
			loadFinishes(next)
			for _, v := range next {
				if !yield(v.index, v.failed) {
					return
				}
			}
		}
	}
}

// vacancy is a vacant index with its predecessor.
type vacancy struct {
	index  int32
	failed *Record
}

// vacantStrides yields the vacant indexes in increasing order, at most stride of them at a time. The
// slice is valid until the next one.
func (c *Census) vacantStrides() iter.Seq[[]vacancy] {
	return func(yield func([]vacancy) bool) {
		next := make([]vacancy, 0, stride)
		for interval := range c.vacant.all() {
			for i := interval.First; i <= interval.Last; i++ { // cannot overflow: Last is below math.MaxInt32
				if len(next) == stride {
					if !yield(next) {
						return
					}
					next = next[:0]
				}
				next = append(next, vacancy{i, c.failed.at(i)}) // no vacant index is done or has an active pod
			}
		}
		yield(next)
	}
}
