package indexset

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBuilder(t *testing.T) {
	var b Builder
	if got := b.Set(); !got.IsEmpty() {
		t.Errorf("zero Builder: got %v, want the empty set", got)
	}
	b.Add(5)
	b.AddRange(1, 3)
	first := b.Set()
	b.Add(4)
	b.AddRange(9, 7) // reversed: adds nothing
	b.Add(-1)
	b.Add(math.MaxInt32)
	second := b.Set()
	for _, tt := range []struct {
		what string
		got  Set
		want string
	}{
		{"first", first, "1-3,5"},
		{"after more was added", second, "1-5"},
	} {
		wellFormed(t, tt.what, tt.got)
		if tt.got.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}

// Set sorts the indexes. Later indexes may be out of order again.
func TestBuilderIsUsableAfterSet(t *testing.T) {
	var b Builder
	b.Add(5)
	b.Add(1)
	if got := b.Set(); b.unordered || !got.Equal(Of(1, 5)) {
		t.Errorf("got %v, unordered %t, want 1,5 in order", got, b.unordered)
	}
	b.Add(3)
	if got := b.Set(); !got.Equal(Of(1, 3, 5)) {
		t.Errorf("got %v, want 1,3,5", got)
	}
}

func TestBuilderMatchesOracle(t *testing.T) {
	shapes := []struct {
		name   string
		n      int
		span   int32
		length int32
	}{
		{"few sparse", 20, Max, 1},
		{"dense", 3000, 4000, 1},
		{"as wide as a bitmap may be", 1000, 32_000, 3},
		{"wider than a bitmap may be", 1000, 33_000, 3},
		{"longer than a bitmap's words", 200, 6000, 120},
		{"too long for a bitmap", 100, 3000, 1000},
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(shapes).Draw(t, "shape")
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		base := rapid.SampledFrom([]int32{0, 77, Max - shape.span + 1}).Draw(t, "base")
		base = min(base, Max-shape.span+1)
		asked := rapid.IntRange(0, 2*shape.n).Draw(t, "asked after") // or not before the end
		var b Builder
		o := oracle{}
		for n := range shape.n {
			first := base + r.Int31n(shape.span)
			last := min(first+r.Int31n(shape.length), base+shape.span-1)
			b.AddRange(first, last)
			o.addRange(first, last)
			if n == asked {
				check(t, shape.name+", a part of it", b.Set(), o)
			}
		}
		check(t, shape.name, b.Set(), o)
		check(t, shape.name+", asked twice", b.Set(), o)
	})
}

func TestBitmapPays(t *testing.T) {
	tests := []struct {
		reason string
		n      int
		span   int32
		total  int64
		want   bool
	}{
		{"32 bits for each interval", 2, 64, 2, true},
		{"one bit more", 2, 65, 2, false},
		{"a total length of 64 for each interval", 10, 320, 640, true},
		{"one index more", 10, 320, 641, false},
		{"few, far apart", 2, Max, 2, false},
	}
	for _, tt := range tests {
		if got := bitmapPays(tt.n, Interval{0, tt.span - 1}, tt.total); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.reason, got, tt.want)
		}
	}
}

// A bitmap is made only if it pays. It is the only allocation besides the intervals of the
// set.
func TestBuilderSortsInPlaceWhereBitmapsDoNotPay(t *testing.T) {
	tests := []struct {
		reason  string
		indexes []int32
		want    float64
	}{
		{"in order", []int32{10, 20, 30, 40}, 1},
		{"out of order, dense", []int32{40, 10, 30, 20}, 2},
		{"out of order, far apart", []int32{4000, 1000, 3000, 2000}, 1},
	}
	for _, tt := range tests {
		var got Set
		allocations := testing.AllocsPerRun(20, func() { got = Of(tt.indexes...) })
		if allocations != tt.want || len(got.ivs) != len(tt.indexes) {
			t.Errorf("%s: got %v with %v allocations, want %d intervals with %v", tt.reason, got, allocations, len(tt.indexes), tt.want)
		}
	}
}

func TestMeasureAndBitmap(t *testing.T) {
	tests := []struct {
		ivs    []Interval
		bounds Interval
		total  int64
		words  []uint64
	}{
		{[]Interval{{5, 5}}, Interval{5, 5}, 1, []uint64{1}},
		{[]Interval{{68, 68}, {5, 6}}, Interval{5, 68}, 3, []uint64{1<<63 | 3}},
		{[]Interval{{69, 69}, {5, 6}}, Interval{5, 69}, 3, []uint64{3, 1}},
		{[]Interval{{50, 200}, {0, 60}}, Interval{0, 200}, 151 + 61, []uint64{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<9 - 1}},
	}
	for _, tt := range tests {
		bounds, total := measure(tt.ivs)
		if bounds != tt.bounds || total != tt.total {
			t.Errorf("measure(%v): got %v, %d, want %v, %d", tt.ivs, bounds, total, tt.bounds, tt.total)
		}
		if got := bitmap(tt.ivs, bounds); !slices.Equal(got, tt.words) {
			t.Errorf("bitmap(%v): got %x, want %x", tt.ivs, got, tt.words)
		}
	}
}

// A range over several words of the bitmap, among singles in reverse order.
func TestBuilderBitmapOfLongRange(t *testing.T) {
	var b Builder
	o := oracle{}
	b.AddRange(130, 330)
	o.addRange(130, 330)
	for i := int32(400); i > 0; i -= 2 {
		b.Add(i)
		o[i] = true
	}
	check(t, "long range", b.Set(), o)
}

// Nearly ordered indexes, with neighbours swapped, as in a list of pods.
func TestBuilderNearlyOrdered(t *testing.T) {
	var b Builder
	o := oracle{}
	for i := int32(0); i < 5000; i += 2 {
		at := i
		if i%100 == 0 {
			at += 5
		}
		b.Add(at)
		o[at] = true
	}
	check(t, "nearly ordered", b.Set(), o)
}
