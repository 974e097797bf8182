package census

import (
	"cmp"
	"iter"

	"github.com/jobfate/jobfate/indexset"
)

// vacancies are the indexes that may get a new pod.
//
// Invariant: the intervals are not empty and do not touch each other. number is the number
// of indexes in them.
type vacancies struct {
	ordered[indexset.Interval]
	number int
}

func byFirst(a, b indexset.Interval) int { return cmp.Compare(a.First, b.First) }

func newVacancies(set indexset.Set) *vacancies {
	var intervals []indexset.Interval
	for interval := range set.Intervals() {
		intervals = append(intervals, interval)
	}
	v := &vacancies{ordered[indexset.Interval]{compare: byFirst}, set.Len()}
	v.fill(intervals)
	return v
}

// clone returns an independent copy; for nil, nil.
func (v *vacancies) clone() *vacancies {
	if v == nil {
		return nil
	}
	return &vacancies{*v.ordered.clone(), v.number}
}

// put adds an index or removes it, as vacant says.
func (v *vacancies) put(index int32, vacant bool) {
	around, some := v.last(indexset.Interval{First: index + 1})
	inside := some && index <= around.Last
	if inside == vacant {
		return
	}
	if !vacant {
		v.number--
		v.remove(around)
		v.insertAll(indexset.Interval{First: around.First, Last: index - 1}, indexset.Interval{First: index + 1, Last: around.Last})
		return
	}
	v.number++
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

// insertAll inserts the intervals that are not empty.
func (v *vacancies) insertAll(intervals ...indexset.Interval) {
	for _, interval := range intervals {
		if interval.First <= interval.Last {
			v.insert(interval)
		}
	}
}

// occupied reports whether an index must not get a new pod.
func (c *Census) occupied(index int32) bool {
	return c.done(index) || c.running[index] > 0 || c.classifier.ReplaceFailedOnly && c.ending[index] > 0
}

// vacancies returns the indexes that may get a new pod.
func (c *Census) vacancies() *vacancies {
	if c.vacant == nil {
		occupied := c.succeeded.union().Union(c.failing.union()).Union(c.running.set())
		if c.classifier.ReplaceFailedOnly {
			occupied = occupied.Union(c.ending.set())
		}
		c.vacant = newVacancies(occupied.Complement(c.classifier.Completions))
	}
	return c.vacant
}

// Vacancies returns the number of vacant indexes: those that are not done and have no
// active pod. With ReplaceFailedOnly they have no terminating pod either.
func (c *Census) Vacancies() int { return c.vacancies().number }

// Vacant yields the vacant indexes in increasing order.
func (c *Census) Vacant() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, intervals := range c.vacancies().chunks {
			for _, interval := range intervals {
				for i := interval.First; i <= interval.Last; i++ { // cannot overflow: Last is below math.MaxInt32
					if !yield(i) {
						return
					}
				}
			}
		}
	}
}
