package indexset

import "strings"

// String returns the canonical text of s.
func (s Set) String() string {
	// The text is built in a buffer on the stack, so that the string is the only
	// allocation and exactly as long as the text.
	const chunk = 64
	var buffer [chunk * longestInterval]byte
	var b strings.Builder
	b.Grow(textLen(s.ivs))
	digits := newDecimals()
	for rest := s.ivs; len(rest) > 0; {
		n := min(chunk, len(rest))
		text := digits.appendIntervals(buffer[:0], rest[:n])
		if rest = rest[n:]; len(rest) == 0 {
			text = text[:len(text)-1]
		}
		b.Write(text)
	}
	return b.String()
}

// MarshalText returns the canonical text of s. The error is always nil.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText sets s to the set with the canonical text b. It is as strict as Parse. If
// it returns an error, s does not change.
func (s *Set) UnmarshalText(b []byte) error {
	set, err := Parse(string(b))
	if err == nil {
		*s = set
	}
	return err
}

// longestInterval is the length of "2147483640-2147483646,".
const longestInterval = 22

// decimals is the number of digits of the index written last. The indexes of a set increase,
// so the number of digits never decreases and need not be counted anew.
type decimals struct {
	n     int
	limit int64 // the least number with more than n digits
}

func newDecimals() decimals { return decimals{n: 1, limit: 10} }

// fit raises d to the number of digits of i.
func (d *decimals) fit(i int32) {
	for int64(i) >= d.limit {
		d.n, d.limit = d.n+1, d.limit*10
	}
}

// appendIntervals appends the text of ivs, each followed by a comma. The capacity of b must
// suffice.
func (d *decimals) appendIntervals(b []byte, ivs []Interval) []byte {
	for _, iv := range ivs {
		b = d.appendIndex(b, iv.First)
		if iv.First < iv.Last {
			separator := byte('-')
			if iv.First+1 == iv.Last {
				separator = ','
			}
			b = append(b, separator)
			b = d.appendIndex(b, iv.Last)
		}
		b = append(b, ',')
	}
	return b
}

// digitPairs holds the numbers from 00 to 99.
const digitPairs = "" +
	"00010203040506070809" + "10111213141516171819" +
	"20212223242526272829" + "30313233343536373839" +
	"40414243444546474849" + "50515253545556575859" +
	"60616263646566676869" + "70717273747576777879" +
	"80818283848586878889" + "90919293949596979899"

// appendIndex writes the digits directly to their place, from the last to the first. With
// strconv.AppendInt, which has to compute the number of digits, String takes 1.9 times as
// long.
func (d *decimals) appendIndex(b []byte, i int32) []byte {
	d.fit(i)
	at, left := len(b)+d.n, uint32(i)
	b = b[:at]
	for ; left >= 100; left /= 100 {
		at -= 2
		copy(b[at:at+2], digitPairs[left%100*2:])
	}
	if left >= 10 {
		copy(b[at-2:at], digitPairs[left*2:])
	} else {
		b[at-1] = '0' + byte(left)
	}
	return b
}

// textLen returns the length of the canonical text of ivs.
func textLen(ivs []Interval) int {
	if len(ivs) == 0 {
		return 0
	}
	n, d := -1, newDecimals() // no comma after the last interval
	for _, iv := range ivs {
		d.fit(iv.First)
		n += d.n + 1
		d.fit(iv.Last)
		n += (d.n + 1) & (int(iv.First-iv.Last) >> 31) // added only if there are two numbers
	}
	return n
}
