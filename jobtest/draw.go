package jobtest

import (
	"math/bits"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// noon is the time around which all generated times are.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Noon returns the time around which all generated times are.
func Noon() time.Time { return noon }

// chance returns true in the given percentage of cases. It shrinks to false.
//
// It uses coin tosses, because rapid draws numbers near the ends of a range far more often
// than others. Each toss halves the range of the number, until the range is on one side of
// the threshold.
func chance(t *rapid.T, percent int, label string) bool {
	low, high := 0, 128
	for middle := 64; high-low > 1; middle = (low + high) / 2 {
		switch limit := 128 * (100 - percent); {
		case 100*high <= limit:
			return false
		case 100*low >= limit:
			return true
		}
		if rapid.Bool().Draw(t, label) {
			low = middle
		} else {
			high = middle
		}
	}
	return 100*low >= 128*(100-percent)
}

// among draws a number from 0 to n-1 with equal probabilities.
func among(t *rapid.T, n int, label string) int {
	number := 0
	for range bits.Len(uint(n-1)) + 3 {
		number *= 2
		if rapid.Bool().Draw(t, label) {
			number++
		}
	}
	return number % n
}

// small draws a number from 0 to most, preferring small ones.
func small(t *rapid.T, most int, label string) int32 {
	return int32(min(rapid.IntRange(0, most).Draw(t, label), rapid.IntRange(0, most).Draw(t, label+"'")+1))
}

// pick draws one of the values; it shrinks to the first.
func pick[T any](t *rapid.T, label string, values ...T) T {
	return values[among(t, len(values), label)]
}

// weighted draws one of the values with probabilities in proportion to their weights.
func weighted[T any](t *rapid.T, label string, choices ...weight[T]) T {
	total := 0
	for _, c := range choices {
		total += c.of
	}
	n := among(t, total, label)
	for _, c := range choices {
		if n < c.of {
			return c.value
		}
		n -= c.of
	}
	return choices[0].value
}

type weight[T any] struct {
	of    int
	value T
}

func w[T any](of int, value T) weight[T] { return weight[T]{of, value} }

func ptr[T any](v T) *T { return &v }

// instant draws a time near noon: at most the given number of seconds before it or after it.
func instant(t *rapid.T, before, after int, label string) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(rapid.IntRange(-before, after).Draw(t, label)) * time.Second))
}
