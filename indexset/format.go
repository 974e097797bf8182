package indexset

import "strings"

// String returns the canonical text of s.
func (s Set) String() string {
	// The text is written to a buffer on the stack, so that the string is the only
	// allocation. A buffer is filled from its end, because the last digit of a number is
	// found first.
	const chunk, longest = 64, len("2147483640-2147483646,")
	var buffer [chunk * longest]byte
	var b strings.Builder
	b.Grow(s.maxText())
	for rest := s.ivs; len(rest) > 0; {
		n, at, end := min(chunk, len(rest)), len(buffer), len(buffer)
		for i := n - 1; i >= 0; i-- {
			at = putInterval(buffer[:at], rest[i])
		}
		rest = rest[n:]
		if len(rest) == 0 {
			end-- // no comma after the last interval
		}
		b.Write(buffer[at:end])
	}
	return b.String()
}

// putInterval writes the text of iv and a comma to the end of out, and returns where it starts.
func putInterval(out []byte, iv Interval) int {
	at := len(out) - 1
	out[at] = ','
	at = putIndex(out[:at], iv.Last)
	if iv.First == iv.Last {
		return at
	}
	at--
	out[at] = '-'
	if iv.First+1 == iv.Last {
		out[at] = ','
	}
	return putIndex(out[:at], iv.First)
}

// putIndex writes i to the end of out, and returns where it starts.
func putIndex(out []byte, i int32) int {
	at := len(out)
	for left := uint32(i); ; left /= 10 {
		at--
		out[at] = '0' + byte(left%10)
		if left < 10 {
			return at
		}
	}
}

// maxText returns the length of the text if all numbers had as many digits as the last.
func (s Set) maxText() int {
	last, _ := s.Max()
	digits := make([]byte, maxDigits)
	length, numbers := len(digits[putIndex(digits, last):]), len(s.ivs)
	for _, iv := range s.ivs {
		if iv.First < iv.Last {
			numbers++
		}
	}
	return numbers * (length + 1)
}
