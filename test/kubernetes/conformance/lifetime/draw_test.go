package lifetime

import "pgregory.net/rapid"

// rapid draws small integers and edges far more often than others. The draws here are uniform, and
// still shrink to the first choice.

var bits = rapid.SliceOfN(rapid.Bool(), 10, 10)

// among draws a number from 0 to n-1; n is at most a hundred or so.
func among(t *rapid.T, n int, label string) int {
	number := 0
	for _, bit := range bits.Draw(t, label) {
		number <<= 1
		if bit {
			number++
		}
	}
	return number * n >> 10
}

// chance returns true with the given probability in percent.
func chance(t *rapid.T, percent int, label string) bool {
	return among(t, 100, label) >= 100-percent
}

func pick[T any](t *rapid.T, label string, values ...T) T {
	return values[among(t, len(values), label)]
}
