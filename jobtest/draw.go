package jobtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// Noon is the time around which everything generated takes place.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Noon returns the time around which everything that is generated takes place.
func Noon() time.Time { return noon }

// chance is true in so many of a hundred cases. It shrinks to false.
func chance(t *rapid.T, percent int, label string) bool {
	return rapid.IntRange(1, 100).Draw(t, label) > 100-percent
}

// among draws a number from 0 to n-1.
func among(t *rapid.T, n int, label string) int {
	return rapid.IntRange(0, n-1).Draw(t, label)
}

// small draws a number from 0 to most, small ones more often.
func small(t *rapid.T, most int, label string) int32 {
	return int32(min(rapid.IntRange(0, most).Draw(t, label), rapid.IntRange(0, most).Draw(t, label+"'")+1))
}

// pick draws one of the values; it shrinks to the first.
func pick[T any](t *rapid.T, label string, values ...T) T {
	return values[among(t, len(values), label)]
}

// weighted draws one of the values, each as often as its weight says.
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

// instant draws a time within the given seconds before and after noon.
func instant(t *rapid.T, before, after int, label string) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(rapid.IntRange(-before, after).Draw(t, label)) * time.Second))
}
