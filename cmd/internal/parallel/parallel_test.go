package parallel

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// TestInOrder checks that results are in order, and that no more are produced after the caller has
// stopped.
func TestInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var got []int
		for i, square := range InOrder(n, func(i int) int { return i * i }) {
			if square != i*i {
				t.Fatalf("got %d for %d, want %d", square, i, i*i)
			}
			got = append(got, i)
		}
		if len(got) != n || !slices.IsSorted(got) {
			t.Errorf("got %v, want the numbers below %d", got, n)
		}
	}
	var produced atomic.Int64
	for i := range InOrder(1000, func(int) int { return int(produced.Add(1)) }) {
		if i == 10 {
			break
		}
	}
	if n := int(produced.Load()); n < 11 || n > 11+(ahead+2)*runtime.GOMAXPROCS(0) {
		t.Errorf("%d were produced, want 11 and at most %d more for each core", n, ahead+2)
	}
}
