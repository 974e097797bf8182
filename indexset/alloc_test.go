package indexset

import (
	"fmt"
	"testing"
)

// Operations that do not change a set return it without allocating. All others allocate
// only their result.
func TestAllocations(t *testing.T) {
	var b Builder
	for i := range int32(1000) {
		b.Add(3 * i)
	}
	s := b.Set()
	text := s.String()
	subset, apart, shifted := s.Clip(500), Of(1, 4, 700), Of(3, 4, 700)
	ranges, thirds := MustParse("1-3,7-9"), MustParse("0,2,9,11,30,42,60,63,90")
	shuffled := []int32{5, 1, 9, 3, 3, 100, 4}
	ordered := []int32{1, 3, 5, 7, 9, 11, 13}

	twice := []int32{1, 1, 3, 3, 5, 5, 7, 7}

	var set Set
	var n int
	tests := []struct {
		what string
		do   func()
		want float64
	}{
		{"Union with a subset", func() { set = s.Union(subset) }, 0},
		{"Union with a superset", func() { set = subset.Union(s) }, 0},
		{"Union with itself", func() { set = s.Union(s) }, 0},
		{"Union with nothing", func() { set = s.Union(Set{}) }, 0},
		{"Intersection with a superset", func() { set = subset.Intersection(s) }, 0},
		{"Intersection with a subset", func() { set = s.Intersection(subset) }, 0},
		{"Intersection with nothing in common", func() { set = s.Intersection(apart) }, 0},
		{"Difference with nothing in common", func() { set = s.Difference(apart) }, 0},
		{"Difference with a superset", func() { set = subset.Difference(s) }, 1},
		{"Clip at the end", func() { set = s.Clip(2998) }, 0},
		{"Clip to nothing", func() { set = s.Clip(0) }, 0},
		{"Complement of nothing", func() { set = Set{}.Complement(10) }, 1},
		{"queries", func() {
			if s.Contains(5) != s.isBelow(700) || !s.Equal(s) {
				n++
			}
			n += s.Len() + s.IntersectionLen(shifted) + len(s.ivs)
		}, 0},
		{"iterators", func() {
			for i := range s.All() {
				n += int(i)
			}
			for iv := range s.Intervals() {
				n += int(iv.First)
			}
		}, 0},

		{"Union", func() { set = s.Union(apart) }, 1},
		{"Intersection", func() { set = s.Intersection(shifted) }, 1},
		{"Intersection of many", func() { set = s.Intersection(thirds) }, 1},
		{"Difference", func() { set = s.Difference(shifted) }, 1},
		{"Difference from few", func() { set = ranges.Difference(s) }, 1}, // without memory for all of s
		{"Clip between intervals", func() { set = s.Clip(500) }, 2},
		{"Clip within an interval", func() { set = ranges.Clip(9) }, 2},
		{"Complement", func() { set = s.Complement(3000) }, 2},
		{"String", func() { n += len(s.String()) }, 1},
		{"Parse", func() { set, _ = Parse(text) }, 1},
		{"ParseOrdered of canonical text", func() { set, _ = ParseOrdered(text, Max) }, 1},
		{"ParseDamaged of canonical text", func() { set, _ = ParseDamaged(text, Max) }, 1},
		{"Of in order", func() { set = Of(ordered...) }, 1},
		{"Of in order, each twice", func() { set = Of(twice...) }, 1},
		{"Of out of order", func() { set = Of(shuffled...) }, 2},
		{"Builder.Set", func() { set = b.Set() }, 1},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(20, tt.do); got > tt.want {
			t.Errorf("%s: got %v allocations, want at most %v", tt.what, got, tt.want)
		}
	}
	if n == 0 || set.IsEmpty() {
		t.Errorf("got %d and %v: the measured functions did not run", n, set)
	}
}

// A set that is built from a longer list does not keep that list in memory.
func TestSetsDoNotKeepLongLists(t *testing.T) {
	var many []int32
	for i := range int32(1000) {
		many = append(many, i)
	}
	damaged, _ := ParseDamaged("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,", 99)
	for what, s := range map[string]Set{"Of": Of(many...), "ParseDamaged": damaged, "Union": Range(0, 5).Union(Range(4, 9))} {
		if got := cap(s.ivs); got > 2 {
			t.Errorf("%s: got capacity %d for one interval, want 2 at most", what, got)
		}
	}
}

// newSet copies a list of which less than half is used, but not one that is half used.
func TestNewSet(t *testing.T) {
	tests := []struct {
		intervals, room int
		copied          bool
	}{{1, 1, false}, {1, 2, false}, {1, 3, false}, {1, 4, true}, {2, 4, false}, {2, 5, false}, {2, 6, true}}
	for _, tt := range tests {
		ivs := make([]Interval, tt.intervals, tt.room)
		for i := range ivs {
			ivs[i] = Interval{int32(2 * i), int32(2 * i)}
		}
		s := newSet(ivs, sum(ivs))
		same(t, fmt.Sprintf("%+v: intervals", tt), s.ivs, ivs)
		same(t, fmt.Sprintf("%+v: copied", tt), &s.ivs[0] != &ivs[0], tt.copied)
	}
}
