package indexset

import "testing"

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, completions byte) {
		checkParsers(t, text, int32(completions)-2)
	})
}

func FuzzOps(f *testing.F) {
	bases := []int32{0, 12345, Max - windowSize + 1}
	f.Fuzz(func(t *testing.T, a, b []byte, base, n byte) {
		at := bases[int(base)%len(bases)]
		checkOperations(t, readWindow(at, a), readWindow(at, b), int32(n)%(windowSize+5)-2)
	})
}

// readWindow reads an interval from every two bytes.
func readWindow(base int32, data []byte) window {
	w := window{base: base}
	for ; len(data) > 1; data = data[2:] {
		w.ivs = append(w.ivs, Interval{base + int32(data[0])%windowSize, base + int32(data[1])%windowSize})
	}
	return w
}
