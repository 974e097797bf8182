package indexset

import "testing"

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "0", "1,3-5,7", "3,4", "0-2147483646", "9-3", "1-5,3", "5,1", "1-2-3", "2,2", "3-4", "1,2,3",
		"+5", "007", "-5", "1,", ",", "1-", "1, 2", "9223372036854775807", "9223372036854775808", "18446744073709551617",
	} {
		f.Add(text, byte(10))
	}
	f.Fuzz(func(t *testing.T, text string, completions byte) {
		checkParsers(t, text, int32(completions)-2)
	})
}

func FuzzOps(f *testing.F) {
	f.Add([]byte{}, []byte{}, byte(0), byte(5))
	f.Add([]byte{1, 1, 3, 5, 7, 7}, []byte{4, 4}, byte(0), byte(9))
	f.Add([]byte{0, 20, 40, 63}, []byte{10, 50}, byte(1), byte(64))
	f.Add([]byte{9, 3, 5, 5, 1, 1}, []byte{0, 63}, byte(2), byte(0))
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
