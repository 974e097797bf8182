package jobtest

import (
	"math/bits"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// noon is the time around which all generated times are.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Noon returns the time around which all generated times are.
func Noon() time.Time { return noon }

// Dice makes the random choices of a generator. The label names the choice.
type Dice interface {
	// Chance returns true in the given percentage of cases.
	Chance(percent int, label string) bool
	// Among returns a number from 0 to n-1, each with the same probability.
	Among(n int, label string) int
	// Between returns a number in a range.
	Between(least, most int, label string) int
}

// Seeded is a dice that is a function of its seed.
type Seeded struct{ *rand.Rand }

// Chance implements [Dice].
func (s Seeded) Chance(percent int, _ string) bool { return s.IntN(100) < percent }

// Among implements [Dice].
func (s Seeded) Among(n int, _ string) int { return s.IntN(n) }

// Between implements [Dice].
func (s Seeded) Between(least, most int, _ string) int { return least + s.IntN(most-least+1) }

// rapidDice is the dice of rapid, which shrinks choices to false and to the least number. It
// uses coin tosses, because rapid draws numbers near the ends of a range far more often than
// others.
type rapidDice struct{ *rapid.T }

// Chance implements [Dice]. Each toss halves the range of a number, until the range is on one
// side of the threshold.
func (t rapidDice) Chance(percent int, label string) bool {
	low, high := 0, 128
	for middle := 64; high-low > 1; middle = (low + high) / 2 {
		switch limit := 128 * (100 - percent); {
		case 100*high <= limit:
			return false
		case 100*low >= limit:
			return true
		}
		if rapid.Bool().Draw(t.T, label) {
			low = middle
		} else {
			high = middle
		}
	}
	return 100*low >= 128*(100-percent)
}

// Among implements [Dice].
func (t rapidDice) Among(n int, label string) int {
	number := 0
	for range bits.Len(uint(n-1)) + 3 {
		number *= 2
		if rapid.Bool().Draw(t.T, label) {
			number++
		}
	}
	return number % n
}

// Between implements [Dice]. It prefers the ends of the range.
func (t rapidDice) Between(least, most int, label string) int {
	return rapid.IntRange(least, most).Draw(t.T, label)
}

// generator returns a generator of rapid.
func generator[T any](draw func(Dice) T) *rapid.Generator[T] {
	return rapid.Custom(func(t *rapid.T) T { return draw(rapidDice{t}) })
}

// small draws a number from 0 to most, preferring small ones.
func small(d Dice, most int, label string) int32 {
	return int32(min(d.Between(0, most, label), d.Between(0, most, label+"'")+1))
}

// pick draws one of the values; rapid shrinks it to the first.
func pick[T any](d Dice, label string, values ...T) T {
	return values[d.Among(len(values), label)]
}

// weighted draws one of the values with probabilities in proportion to their weights.
func weighted[T any](d Dice, label string, choices ...weight[T]) T {
	total := 0
	for _, c := range choices {
		total += c.of
	}
	n := d.Among(total, label)
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

// elsewhere is another zone than UTC, as in times that JSON or the local clock gives.
var elsewhere = time.FixedZone("CET", 60*60)

// instant draws a time near noon: at most the given number of seconds before it or after it. Every third time is
// elsewhere, which no decision may depend on.
func instant(d Dice, before, after int, label string) metav1.Time {
	n := d.Between(-before, after, label)
	at := noon.Add(time.Duration(n) * time.Second)
	if (n+len(label))%3 == 0 {
		at = at.In(elsewhere)
	}
	return metav1.NewTime(at)
}
