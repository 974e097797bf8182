package indexset

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawSet(t *rapid.T, label string) Set {
	return Of(rapid.SliceOfN(rapid.Int32Range(0, 60), 0, 30).Draw(t, label)...)
}

// An arena makes the sets that are made without it, and none changes while
// others are made. After a Reset there is room for as much as before.
func TestArena(t *testing.T) {
	var arena Arena
	rapid.Check(t, func(t *rapid.T) {
		arena.Reset()
		type made struct {
			what      string
			got, want Set
		}
		var all []made
		for range rapid.IntRange(1, 5).Draw(t, "sets") {
			a, b := drawSet(t, "a"), drawSet(t, "b")
			n := rapid.Int32Range(-1, 70).Draw(t, "n")
			all = append(all, made{fmt.Sprintf("%v ∪ %v", a, b), arena.Union(a, b), a.Union(b)})

			text := rapid.SampledFrom([]string{a.String(), b.String(), "", "5,1", "1,x,7-3"}).Draw(t, "text")
			got, damage := arena.ParseDamaged(text, n)
			want, wantDamage := ParseDamaged(text, n)
			all = append(all, made{fmt.Sprintf("%q below %d", text, n), got, want})
			if damage != wantDamage {
				t.Errorf("%q below %d: got damage %v, want %v", text, n, damage, wantDamage)
			}

			all = append(all, made{fmt.Sprintf("below %d", n), arena.Below(n), Set{}.Complement(n)})

			var bits Bitmap
			bits.Reset(70)
			for i := range a.All() {
				bits.Add(i)
			}
			all = append(all, made{fmt.Sprintf("bits of %v", a), bits.Set(&arena), a})
		}
		for _, m := range all {
			wellFormed(t, m.what, m.got)
			if !m.got.Equal(m.want) {
				t.Errorf("%s: got %v, want %v", m.what, m.got, m.want)
			}
		}
	})
}

func TestArena_allocatesOnce(t *testing.T) {
	a, b := MustParse("1,3,5-9"), MustParse("2,30-40")
	text := a.String()
	var arena Arena
	var bits Bitmap
	use := func() {
		arena.Reset()
		s, _ := arena.ParseDamaged(text, 50)
		s = arena.Union(s, b)
		s = arena.Union(s, arena.Below(2))
		bits.Reset(100)
		for i := range int32(100) {
			bits.Add(i * 7)
		}
		s = arena.Union(s, bits.Set(&arena))
		if s.IsEmpty() {
			t.Error("got the empty set")
		}
	}
	use()
	use()
	if n := testing.AllocsPerRun(10, use); n != 0 {
		t.Errorf("got %v allocations from the third time on, want none", n)
	}
}

// "What was lacking is there from now on, so that a caller who does the same again
// does not allocate": from the second time on, not a bit later each time.
func TestArena_hasWhatWasLacking(t *testing.T) {
	a, b := Of(0, 2), Of(5)
	var arena Arena
	use := func() {
		for range 3 {
			arena.Union(a, b)
			arena.Below(3)
		}
		arena.Reset()
	}
	// AllocsPerRun calls it once before it counts.
	if n := testing.AllocsPerRun(1, use); n != 0 {
		t.Errorf("got %v allocations the second time, want none", n)
	}
}

// A set keeps the room of its intervals and no more, also the first in the room.
func TestArena_givesBackWhatIsNotNeeded(t *testing.T) {
	a, b := MustParse("0,2,4,6"), MustParse("1,3,5,7")
	var arena Arena
	arena.Union(a, b)
	arena.Reset()     // now there is room for eight
	arena.Union(a, b) // takes all of it, and needs one
	for range 7 {
		arena.Below(3)
	}
	if arena.used != 8 || arena.lacked != 0 {
		t.Errorf("got %d intervals used and %d lacking, want 8 and 0", arena.used, arena.lacked)
	}
}

// A Bitmap is a set of the indexes that were added, however they are spread over
// its words.
func TestBitmap(t *testing.T) {
	var bits Bitmap // used again and again
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(-3, 300).Draw(t, "n")
		var want []int32
		bits.Reset(n)
		for range rapid.IntRange(0, 9).Draw(t, "runs") {
			first := rapid.Int32Range(-5, 310).Draw(t, "first")
			length := rapid.Int32Range(1, 140).Draw(t, "length")
			for i := first; i < first+length; i++ {
				bits.Add(i)
				if 0 <= i && i < n {
					want = append(want, i)
				}
			}
		}
		got := bits.Set(nil)
		if !got.Equal(Of(want...)) {
			t.Errorf("below %d: got %v, want %v", n, got, Of(want...))
		}
		if runs := countRuns(bits.words); runs != len(got.ivs) {
			t.Errorf("%v: got %d runs of bits, want %d", got, runs, len(got.ivs))
		}
	})
	if got := new(Bitmap).Set(nil); !got.IsEmpty() {
		t.Errorf("the zero Bitmap: got %v, want the empty set", got)
	}
}

// A Bitmap goes through no more words than it has bits for, however many it had,
// and none of them holds what was added before.
func TestBitmap_Reset(t *testing.T) {
	var bits Bitmap
	for _, tt := range []struct {
		n     int32
		words int
	}{{1000, 16}, {64, 1}, {65, 2}, {0, 0}, {-1, 0}, {1, 1}, {1024, 16}, {5000, 79}} {
		bits.Reset(tt.n)
		if got := len(bits.words); got != tt.words {
			t.Errorf("Reset(%d): got %d words, want %d", tt.n, got, tt.words)
		}
		if got := bits.Set(nil); !got.IsEmpty() {
			t.Errorf("Reset(%d): got %v, want the empty set", tt.n, got)
		}
		for i := range tt.n {
			bits.Add(i)
		}
	}
}

func TestCountRuns(t *testing.T) {
	const all, last = ^uint64(0), uint64(1) << 63
	for _, tt := range []struct {
		reason string
		words  []uint64
		want   int
	}{
		{"none", []uint64{0, 0}, 0},
		{"two in a word", []uint64{1 | last}, 2},
		{"one goes on in the next word", []uint64{last, 1}, 1},
		{"over a whole word", []uint64{last, all, 1}, 1},
		{"a gap at the start of the next word", []uint64{last, 2}, 2},
		{"a gap at the end of a word", []uint64{all >> 1, 1}, 2},
	} {
		if got := countRuns(tt.words); got != tt.want {
			t.Errorf("%s: got %d runs in %x, want %d", tt.reason, got, tt.words, tt.want)
		}
	}
}

func TestDenseEnough(t *testing.T) {
	for _, tt := range []struct {
		n       int32
		indexes int
		want    bool
	}{{0, 0, true}, {1, 0, false}, {64, 1, true}, {65, 1, false}, {Max, 1000, false}, {Max, 1 << 40, true}} {
		if got := DenseEnough(tt.n, tt.indexes); got != tt.want {
			t.Errorf("DenseEnough(%d, %d) = %v, want %v", tt.n, tt.indexes, got, tt.want)
		}
	}
}

// What Clip shares with a set in an arena is a set as any other.
func TestArena_clip(t *testing.T) {
	var arena Arena
	for range 3 {
		arena.Reset()
		s := arena.Union(Of(1, 5), Of(3, 9))
		clipped := s.Clip(4)
		arena.Union(Of(20), Of(22))
		if got := slices.Collect(clipped.All()); !slices.Equal(got, []int32{1, 3}) {
			t.Errorf("got %v, want [1 3]", got)
		}
	}
}
