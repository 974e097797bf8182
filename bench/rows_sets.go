package main

import (
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/bits-and-blooms/bitset"

	"github.com/jobfate/jobfate/conformance/apiserver"
	"github.com/jobfate/jobfate/conformance/real"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/validation"
)

// A collection holds one set in the representation of each side.
type collection struct {
	text    string
	ours    indexset.Set
	real    real.Intervals
	roaring *roaring.Bitmap
	bitset  *bitset.BitSet
}

func newCollection(s indexset.Set) *collection {
	c := &collection{text: s.String(), ours: s, roaring: roaring.New(), bitset: bitset.New(0)}
	c.real = real.ParseIndexes(c.text, math.MaxInt32)
	for i := range s.All() {
		c.roaring.Add(uint32(i))
		c.bitset.Set(uint(i))
	}
	c.roaring.RunOptimize()
	return c
}

// spaced returns n intervals at equal distances, of which these are the first index and the last of the first.
func spaced(n int, distance, first, last int32) indexset.Set {
	var b indexset.Builder
	for i := range int32(n) {
		b.AddRange(distance*i+first, distance*i+last)
	}
	return b.Set()
}

// singles is the set of a Job in which every second index is done.
func singles(n int) indexset.Set { return spaced(n, 2, 0, 0) }

// ranges is the set of a Job in which every fourth index is not done.
func ranges(n int) indexset.Set { return spaced(n, 4, 0, 2) }

// random is a set with intervals of one to four indexes at random distances.
func random(n int) indexset.Set {
	r := rand.New(rand.NewSource(1))
	var b indexset.Builder
	at := int32(0)
	for range n {
		at += 2 + int32(r.ExpFloat64()*10)
		length := r.Int31n(4)
		b.AddRange(at, at+length)
		at += length
	}
	return b.Set()
}

type namedSet struct {
	name string
	set  indexset.Set
}

func setsOf(n int) []namedSet {
	return []namedSet{{"singles", singles(n)}, {"ranges", ranges(n)}, {"random", random(n)}}
}

// codecRows measures parsing and formatting.
func codecRows(m meter, z scale, emit emit) error {
	for k, n := range z.intervals {
		for _, s := range setsOf(n) {
			c := newCollection(s.set)
			r, err := m.measure(
				timed(func() { c.parse() }),
				timed(func() { sink += len(real.ParseIndexes(c.text, math.MaxInt32)) }),
				timed(func() { sink += len(c.ours.String()) }),
				timed(func() { sink += len(c.real.String()) }),
				timed(func() { sink += len(c.formatRoaring()) }),
			)
			if err != nil {
				return err
			}
			parse := fmt.Sprintf("parse %s, %s intervals", s.name, many(n))
			format := fmt.Sprintf("format %s, %s intervals", s.name, many(n))
			last := k == len(z.intervals)-1
			var goals [6]target
			if last {
				goals = [6]target{atLeast(4, "≥ 4"), atLeast(3, "≥ 3"), atMost(1e6, "≤ 1 ms"),
					atMost(0.6e6, "≤ 0.6 ms"), atMost(2, "≤ 2"), atMost(1, "≤ 1")}
			}
			emit(faster(r, 0, 1, parse, "real controller", goals[0]),
				faster(r, 2, 3, format, "real controller", goals[1]),
				faster(r, 2, 4, format, "roaring", target{}))
			if !last {
				continue
			}
			parsing := allocated(c.parse)
			formatting := allocated(func() { sink += len(c.ours.String()) })
			emit(absolute(parse+": least", r.least(0), goals[2]),
				absolute(format+": least", r.least(2), goals[3]),
				amount(parse+": allocations", "allocs", "%.0f", float64(parsing.count), goals[4]),
				amount(format+": allocations", "allocs", "%.0f", float64(formatting.count), goals[5]))
		}
	}
	return nil
}

func (c *collection) parse() {
	s, err := indexset.Parse(c.text)
	if err != nil {
		panic(err) // String wrote the text
	}
	use(s)
}

// use keeps the compiler from removing the construction of a set.
func use(s indexset.Set) {
	last, _ := s.Max()
	sink += int(last)
}

// formatRoaring writes the canonical text, as fast as its iterator allows.
func (c *collection) formatRoaring() string {
	var b strings.Builder
	b.Grow(len(c.text))
	var digits [20]byte
	first, last, open := uint32(0), uint32(0), false
	flush := func() {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.Write(strconv.AppendUint(digits[:0], uint64(first), 10))
		switch {
		case last == first:
			return
		case last == first+1:
			b.WriteByte(',')
		default:
			b.WriteByte('-')
		}
		b.Write(strconv.AppendUint(digits[:0], uint64(last), 10))
	}
	for it := c.roaring.Iterator(); it.HasNext(); {
		i := it.Next()
		if open && i == last+1 {
			last = i
			continue
		}
		if open {
			flush()
		}
		first, last, open = i, i, true
	}
	if open {
		flush()
	}
	return b.String()
}

// setRows measures a union with 500 indexes, and lookups of indexes.
func setRows(m meter, z scale, emit emit) error {
	for k, n := range z.intervals {
		last := k == len(z.intervals)-1
		for _, s := range setsOf(n) {
			c := newCollection(s.set)
			few := newCollection(scattered(500, s.set))
			asked := questions(s.set)
			r, err := m.measure(
				timed(func() { use(c.ours.Union(few.ours)) }),
				timed(func() { sink += len(c.real.Merge(few.real)) }),
				timed(func() { sink += int(addTo(c.roaring.Clone(), few.ours).GetCardinality()) }),
				timed(func() { sink += int(c.bitset.Union(few.bitset).Len()) }),
				timed(func() { ask(asked, c.ours.Contains) }),
				timed(func() { ask(asked, func(i int32) bool { return c.real.Has(int(i)) }) }),
				timed(func() { ask(asked, func(i int32) bool { return c.roaring.Contains(uint32(i)) }) }),
				timed(func() { ask(asked, func(i int32) bool { return c.bitset.Test(uint(i)) }) }),
			)
			if err != nil {
				return err
			}
			add := fmt.Sprintf("union, add 500 to %s, %s intervals", s.name, many(n))
			has := fmt.Sprintf("%d questions to %s, %s intervals", len(asked), s.name, many(n))
			for i, beside := range []string{"real controller", "roaring", "bitset"} {
				emit(faster(r, 0, 1+i, add, beside, target{}))
			}
			for i, beside := range []string{"real controller", "roaring", "bitset"} {
				emit(faster(r, 4, 5+i, has, beside, target{}))
			}
			if last {
				each := float64(r.least(0)) / float64(n)
				one := float64(r.least(4)) / float64(len(asked))
				emit(row{what: add + ": per interval, least",
					ours: fmt.Sprintf("%.2f ns", each)}.with(atMost(2, "≤ 2 ns"), each),
					row{what: fmt.Sprintf("contains, %s, %s intervals: least", s.name, many(n)),
						ours: fmt.Sprintf("%.1f ns", one)})
			}
		}
	}
	return nil
}

// scattered returns at most n indexes, spread over the span of a set.
func scattered(n int, over indexset.Set) indexset.Set {
	r := rand.New(rand.NewSource(1))
	last, _ := over.Max()
	indexes := make([]int32, n)
	for i := range indexes {
		indexes[i] = r.Int31n(last+1) | 1
	}
	return indexset.Of(indexes...)
}

// questions returns random indexes, about half of which are in the set.
func questions(s indexset.Set) []int32 {
	r := rand.New(rand.NewSource(2))
	last, _ := s.Max()
	asked := make([]int32, 1<<14)
	for i := range asked {
		asked[i] = r.Int31n(last + 1)
	}
	return asked
}

// ask counts the indexes that are in the set. It has no branch that depends on an answer,
// because a branch may take longer than a lookup.
func ask(asked []int32, has func(int32) bool) {
	n := 0
	for _, i := range asked {
		if has(i) {
			n++
		}
	}
	sink += n
}

func addTo(b *roaring.Bitmap, few indexset.Set) *roaring.Bitmap {
	for i := range few.All() {
		b.Add(uint32(i))
	}
	return b
}

// farRows measures a set of two ranges near the last index.
func farRows(m meter, z scale, emit emit) error {
	middle, end := z.completed/2, z.completed-1
	text := indexset.Range(0, end).Difference(indexset.Range(middle, middle)).String()
	r, err := m.measure(
		timed(func() { sink += indexset.MustParse(text).Len() }),
		timed(func() { sink += real.ParseIndexes(text, int(z.completed)).Total() }),
		timed(func() {
			b := roaring.New()
			b.AddRange(0, uint64(middle))
			b.AddRange(uint64(middle)+1, uint64(end)+1)
			sink += int(b.GetCardinality())
		}),
		timed(func() {
			b := bitset.New(uint(end)+1).FlipRange(0, uint(end)+1)
			b.Clear(uint(middle))
			sink += int(b.Count())
		}),
	)
	if err != nil {
		return err
	}
	for i, beside := range []string{"real controller", "roaring", "bitset"} {
		emit(faster(r, 0, 1+i, "two ranges up to 2³¹−2: make and count", beside, target{}))
	}
	return nil
}

// validationRows measures the validation of a status with two large lists of indexes.
func validationRows(m meter, z scale, emit emit) error {
	n := z.intervals[len(z.intervals)-1]
	old := newJob(4 * n)
	old.Spec.BackoffLimitPerIndex = new(int32(1))
	old.Spec.MaxFailedIndexes = new(int32(n))
	old.Spec.Parallelism = new(int32(10))
	old.Status.FailedIndexes = new("")
	job := old.DeepCopy()
	completed := singles(n).Intersection(indexset.Range(0, int32(2*n)))
	job.Status.CompletedIndexes = completed.String()
	job.Status.Succeeded = int32(completed.Len())
	job.Status.FailedIndexes = new(spaced(n, 4, 1, 1).String()) // beside the completed ones
	for what, errs := range map[string]int{
		"jobfate": len(validation.StatusUpdate(job, old)), "the API server": len(apiserver.AcceptStatus(old, job)),
	} {
		if errs > 0 {
			return fmt.Errorf("%s rejects the status", what)
		}
	}
	r, err := m.measure(
		timed(func() { sink += len(validation.StatusUpdate(job, old)) }),
		timed(func() { sink += len(apiserver.AcceptStatus(old, job)) }),
	)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("validate a status, 2 × %s intervals", many(n))
	emit(faster(r, 0, 1, what, "API server", target{}))
	return nil
}
