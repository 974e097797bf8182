package functions

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/test/kubernetes/conformance/real"
)

// indexes draws a set of indexes below the completions, with intervals of all lengths.
func (d draw) indexes(completions int32) indexset.Set {
	var b indexset.Builder
	at := int64(0)
	if d.percent(5) {
		at = int64(completions) - int64(d.IntN(30))
	}
	for range d.upTo(12) {
		at += int64(d.IntN(4))
		if d.percent(3) {
			at += d.Int64N(int64(completions) + 1)
		}
		length := int64(pick(d, 0, 0, 0, 1, 1, 2, 3, 8))
		if at+length >= int64(completions) {
			break
		}
		b.AddRange(int32(at), int32(at+length))
		at += length + 1
	}
	return b.Set()
}

func (d draw) completions() int32 {
	return pick(d, int32(1+d.upTo(40)), int32(1+d.upTo(40)), 0, 1, 100_000, math.MaxInt32)
}

// intervals converts a set to the type of the controller.
func intervals(s indexset.Set) real.Intervals {
	var x real.Intervals
	for iv := range s.Intervals() {
		x = append(x, real.Interval{First: int(iv.First), Last: int(iv.Last)})
	}
	return x
}

func same(s indexset.Set, x real.Intervals) bool { return slices.Equal(intervals(s), x) }

// All functions agree on canonical sets.
func TestSets(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		n := d.completions()
		a, b := d.indexes(n), d.indexes(n)
		x, y := intervals(a), intervals(b)
		if got, want := a.String(), x.String(); got != want {
			t.Errorf("String of %v: jobfate %q, Kubernetes %q", x, got, want)
		}
		if got, want := a.Len(), x.Total(); got != want {
			t.Errorf("size of %v: jobfate %d, Kubernetes %d", x, got, want)
		}
		if got, want := a.Union(b), x.Merge(y); !same(got, want) {
			t.Errorf("union of %v and %v: jobfate %s, Kubernetes %v", x, y, got, want)
		}
		i := d.Int32N(max(n, 1))
		if m, ok := a.Max(); ok && d.percent(70) {
			i = m - int32(d.IntN(5)) + 1
		}
		if got, want := a.Contains(i), x.Has(int(i)); i >= 0 && got != want {
			t.Errorf("%v contains %d: jobfate %t, Kubernetes %t", x, i, got, want)
		}
		parsed, damage := indexset.ParseDamaged(a.String(), n)
		if want := real.ParseIndexes(a.String(), int(n)); !same(parsed, want) || damage != nil {
			t.Errorf("%q parsed for %d completions: jobfate %s, %v, Kubernetes %v", a, n, parsed, damage, want)
		}
		// Scaled down below the completed indexes.
		fewer := int32(d.Int64N(int64(n) + 1))
		if m, ok := a.Max(); ok && d.percent(80) {
			fewer = int32(d.IntN(int(m) + 2))
		}
		clipped, _ := indexset.ParseDamaged(a.String(), fewer)
		if want := real.ParseIndexes(a.String(), int(fewer)); !same(clipped, want) {
			t.Errorf("%q parsed for %d completions: jobfate %s, Kubernetes %v", a, fewer, clipped, want)
		}
		reached(strconv.Itoa(min(len(intervals(a)), 10)/3*3) + " or more intervals")
	})
}

// Both parsers agree on the sets that the API server accepts in a spec, which need not be canonical.
func TestParse_whatTheServerAccepts(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		n := d.completions()
		s := d.damaged(n)
		if d.percent(70) {
			s = d.ungrouped(d.indexes(n))
		}
		if _, err := indexset.ParseOrdered(s, n); err != nil {
			reached("refused")
			return
		}
		got, _ := indexset.ParseDamaged(s, n)
		if want := real.ParseIndexes(s, int(n)); !same(got, want) {
			t.Errorf("%q for %d completions: jobfate %s, Kubernetes %v", s, n, got, want)
		}
		reached("taken")
	})
}

// ungrouped writes a set in a form that is not canonical: single indexes, split intervals, signs and
// leading zeros.
func (d draw) ungrouped(s indexset.Set) string {
	var parts []string
	for iv := range s.Intervals() {
		for first := int64(iv.First); first <= int64(iv.Last); {
			last := min(int64(iv.Last), first+int64(d.IntN(3)))
			part := d.number(first)
			if last > first {
				part += "-" + d.number(last)
			}
			parts = append(parts, part)
			first = last + 1
		}
		if len(parts) > 30 {
			break
		}
	}
	return strings.Join(parts, ",")
}

func (d draw) number(n int64) string {
	s := strconv.FormatInt(n, 10)
	if d.percent(5) {
		s = pick(d, "+", "0", "00") + s
	}
	return s
}

// damaged writes a text of valid and invalid fragments.
func (d draw) damaged(n int32) string {
	numbers := []func() string{
		func() string { return strconv.Itoa(d.IntN(20)) },
		func() string { return strconv.Itoa(d.IntN(20)) },
		func() string { return strconv.Itoa(d.IntN(20)) },
		func() string { return strconv.FormatInt(int64(n)+int64(d.IntN(3))-1, 10) },
		func() string {
			return pick(d, "", "x", " 1", "2147483646", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999", "+3", "007", "1e3", "0x1", "1_0", "é")
		},
	}
	number := func() string { return numbers[d.IntN(len(numbers))]() }
	parts := make([]string, 1+d.upTo(6))
	for i := range parts {
		parts[i] = number()
		for range pick(d, 0, 0, 1, 1, 1, 2, 3) {
			parts[i] += "-" + number()
		}
	}
	return strings.Join(parts, ",")
}

// The divergence canonical-indexes: jobfate parses the same fragments into a set. The test lets the
// real controller parse each fragment alone, and unites the results. A fragment that starts at the
// completions or above ends the parsing.
func TestParseDamaged_canonical_indexes(t *testing.T) {
	each(t, 1, func(t *testing.T, d draw, reached func(string)) {
		n := d.completions()
		s := d.damaged(n)
		var want indexset.Set
		for _, fragment := range strings.Split(s, ",") {
			first, err := strconv.Atoi(strings.Split(fragment, "-")[0])
			if err == nil && first >= int(n) {
				reached("ends at completions")
				break
			}
			for _, iv := range real.ParseIndexes(fragment, int(n)) {
				want = want.Union(indexset.Range(int32(iv.First), int32(iv.Last)))
			}
		}
		got, damage := indexset.ParseDamaged(s, n)
		if !got.Equal(want) {
			t.Errorf("%q for %d completions: jobfate %s, the fragments make %s", s, n, got, want)
		}
		whole := real.ParseIndexes(s, int(n))
		if strict, err := indexset.Parse(s); err == nil && strict.Clip(n).Equal(strict) != (damage == nil) {
			t.Errorf("%q for %d completions: damage %v", s, n, damage)
		}
		if same(got, whole) {
			reached("equal to the whole")
		} else {
			reached("Kubernetes makes no set of it")
		}
	})
}
