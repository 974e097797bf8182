package main

import (
	"fmt"
	"math"
	"math/rand"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// spaced returns n intervals at equal distances, the first one from 0 to last.
func spaced(n int, distance, last int32) indexset.Set {
	var b indexset.Builder
	for i := range int32(n) {
		b.AddRange(distance*i, distance*i+last)
	}
	return b.Set()
}

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
	return []namedSet{
		{"singles", spaced(n, 2, 0)}, // every second index is done
		{"ranges", spaced(n, 4, 2)},  // every fourth index is not done
		{"random", random(n)},
	}
}

// codecRows measures parsing and formatting.
func codecRows(m meter, z scale, emit emit) error {
	for k, n := range z.intervals {
		for _, s := range setsOf(n) {
			text := s.set.String()
			theirs := real.ParseIndexes(text, math.MaxInt32)
			r, err := m.measure(
				timed(func() { use(indexset.MustParse(text)) }),
				timed(func() { sink += len(real.ParseIndexes(text, math.MaxInt32)) }),
				timed(func() { sink += len(s.set.String()) }),
				timed(func() { sink += len(theirs.String()) }),
			)
			if err != nil {
				return err
			}
			last := k == len(z.intervals)-1
			for i, of := range []struct {
				what                       string
				relative, absolute, allocs target
				run                        func()
			}{
				{"parse", atLeast(4, "≥ 4"), atMost(1e6, "≤ 1 ms"), atMost(2, "≤ 2"),
					func() { use(indexset.MustParse(text)) }},
				{"format", atLeast(3, "≥ 3"), atMost(0.6e6, "≤ 0.6 ms"), atMost(1, "≤ 1"),
					func() { sink += len(s.set.String()) }},
			} {
				what := fmt.Sprintf("%s %s, %s intervals", of.what, s.name, many(n))
				if !last {
					emit(faster(r, 2*i, 2*i+1, what, "real controller", target{}))
					continue
				}
				emit(faster(r, 2*i, 2*i+1, what, "real controller", of.relative),
					absolute(what+": least", r.least(2*i), of.absolute),
					amount(what+": allocations", "allocs", "%.0f", float64(allocated(of.run).count), of.allocs))
			}
		}
	}
	return nil
}

// use keeps the compiler from removing the construction of a set.
func use(s indexset.Set) {
	last, _ := s.Max()
	sink += int(last)
}

// setRows measures a union with 500 indexes.
func setRows(m meter, z scale, emit emit) error {
	n := z.intervals[len(z.intervals)-1]
	for _, s := range setsOf(n) {
		few := scattered(500, s.set)
		r, err := m.measure(timed(func() { use(s.set.Union(few)) }))
		if err != nil {
			return err
		}
		each := float64(r.least(0)) / float64(n)
		emit(row{what: fmt.Sprintf("union, add 500 to %s, %s intervals: per interval, least", s.name, many(n)),
			ours: fmt.Sprintf("%.2f ns", each)}.with(atMost(2, "≤ 2 ns"), each))
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
