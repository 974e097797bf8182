package indexset

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// oracle is a slow set with an entry for each index. Sets in tests are small, or lie within a
// small window.
type oracle map[int32]bool

func (o oracle) addRange(first, last int32) {
	for i := int64(first); i <= int64(last); i++ {
		o[int32(i)] = true
	}
}

func (o oracle) sorted() []int32 {
	return slices.Sorted(maps.Keys(o))
}

// filter returns the indexes of o for which keep returns true.
func (o oracle) filter(keep func(int32) bool) oracle {
	kept := maps.Clone(o)
	maps.DeleteFunc(kept, func(i int32, _ bool) bool { return !keep(i) })
	return kept
}

// intervals groups runs of consecutive indexes.
func (o oracle) intervals() []Interval {
	var ivs []Interval
	for _, i := range o.sorted() {
		if o[i-1] {
			ivs[len(ivs)-1].Last = i
		} else {
			ivs = append(ivs, Interval{i, i})
		}
	}
	return ivs
}

// text is the canonical text.
func (o oracle) text() string {
	var fragments []string
	for _, iv := range o.intervals() {
		first, last := strconv.Itoa(int(iv.First)), strconv.Itoa(int(iv.Last))
		switch iv.Last - iv.First {
		case 0:
			fragments = append(fragments, first)
		case 1:
			fragments = append(fragments, first, last)
		default:
			fragments = append(fragments, first+"-"+last)
		}
	}
	return strings.Join(fragments, ",")
}

// check fails the test unless a set has the indexes of want and canonical intervals.
func check(t rapid.TB, what string, got Set, want oracle) {
	t.Helper()
	wellFormed(t, what, got)
	if !slices.Equal(got.ivs, want.intervals()) || got.Len() != len(want.sorted()) {
		t.Fatalf("%s: got %v, %d indexes, want %v", what, got, got.Len(), want.text())
	}
}

// wellFormed fails the test unless a set has canonical intervals.
func wellFormed(t rapid.TB, what string, s Set) {
	t.Helper()
	if s.ivs != nil && len(s.ivs) == 0 {
		t.Fatalf("%s: got an empty list of intervals, want nil", what)
	}
	end := int64(-2)
	for _, iv := range s.ivs {
		if int64(iv.First) <= end+1 || iv.Last < iv.First || iv.Last > Max {
			t.Fatalf("%s: got intervals %v, want them increasing, disjoint, not adjacent, within [0, Max]", what, s.ivs)
		}
		end = int64(iv.Last)
	}
}

// reads fails the test unless a set has canonical intervals and a text.
func reads(t rapid.TB, what string, got Set, want string) {
	t.Helper()
	wellFormed(t, what, got)
	same(t, what, got.String(), want)
}

// same fails the test unless two values are equal.
func same[T any](t rapid.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// slowOrdered returns what the API server reads from a text: a set or the text of an error.
// It requires small completions and integers of 64 bits.
func slowOrdered(s string, completions int32) (oracle, string) {
	set, previous := oracle{}, int64(-1)
	if s == "" {
		return set, ""
	}
	for _, fragment := range strings.Split(s, ",") {
		if strings.Count(fragment, "-") > 1 {
			return nil, fmt.Sprintf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", fragment)
		}
		var numbers []int64
		for _, part := range strings.Split(fragment, "-") {
			number, err := strconv.ParseInt(part, 10, 64)
			if err != nil {
				return nil, fmt.Sprintf("cannot convert string to integer for index: %q", part)
			}
			if number >= int64(completions) {
				return nil, fmt.Sprintf("too large index: %q", part)
			}
			numbers = append(numbers, number)
		}
		order := append([]int64{previous}, numbers...)
		// The two numbers of a fragment are compared first, then the first number with
		// the one before the fragment.
		for i := len(order) - 1; i > 0; i-- {
			if order[i-1] >= order[i] {
				return nil, fmt.Sprintf("non-increasing order, previous: %d, current: %d", order[i-1], order[i])
			}
		}
		previous = numbers[len(numbers)-1]
		set.addRange(int32(numbers[0]), int32(previous))
	}
	return set, ""
}

// slowDamaged follows the rules of ParseDamaged one by one. It requires small completions
// and integers of 64 bits.
func slowDamaged(s string, completions int32) oracle {
	set := oracle{}
	for _, fragment := range strings.Split(s, ",") {
		parts := strings.Split(fragment, "-")
		first, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			continue
		}
		if first >= int64(completions) {
			return set
		}
		last := first
		if len(parts) > 1 {
			if last, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
				continue
			}
		}
		set.addRange(int32(first), int32(min(last, int64(completions)-1)))
	}
	return set
}
