package indexset

import (
	"math"
	"math/rand"
	"testing"

	"pgregory.net/rapid"
)

func TestBuilder(t *testing.T) {
	var b Builder
	reads(t, "zero Builder", b.Set(), "")
	b.Add(5)
	b.AddRange(1, 3)
	first := b.Set()
	b.Add(6) // would extend the last interval of the first set
	b.Add(4)
	b.AddRange(9, 7) // reversed: adds nothing
	b.Add(-1)
	b.Add(math.MaxInt32)
	second := b.Set()
	reads(t, "first", first, "1-3,5")
	reads(t, "after more was added", second, "1-6")
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
		{"short ranges", 1000, 32_000, 3},
		{"long ranges", 200, 6000, 120},
		{"overlapping ranges", 100, 3000, 1000},
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
