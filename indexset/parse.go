package indexset

import (
	"fmt"
	"strings"
)

// SyntaxError says why and where a text is not the text of a set.
type SyntaxError struct {
	Fragment string // the text between the commas around the fault
	Offset   int    // the offset of the fragment in the text, in bytes
	Reason   string
}

// Error returns the position and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("indexes: fragment %q at offset %d: %s", e.Fragment, e.Offset, e.Reason)
}

// Parse returns the set with the canonical text s. It accepts only what String writes: if
// it succeeds, the String of the result is s. Its error is a *SyntaxError.
func Parse(s string) (Set, error) {
	set, fault := parse(s)
	if fault != nil {
		return Set{}, fault
	}
	return set, nil
}

// MustParse is Parse for texts that are known to be canonical. It panics if s is not.
func MustParse(s string) Set {
	set, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return set
}

// parse is Parse with the error as a *SyntaxError. It only detects that a fragment is wrong;
// whyNotCanonical finds the reason.
func parse(s string) (Set, *SyntaxError) {
	if s == "" {
		return Set{}, nil
	}
	ivs := make([]Interval, 0, 1+strings.Count(s, ","))
	previous := int32(-2) // the last index so far; -2 because 0 is not consecutive to it
	for at := 0; ; {
		first, end := number(s, at)
		last, ok := first, first >= 0
		if end < len(s) && s[end] == '-' {
			last, end = number(s, end+1)
			ok = ok && last-first >= 2 // last is -1 if it is not an index
		}
		ok = ok && (end == len(s) || s[end] == ',')
		switch {
		case ok && first > previous+1:
			ivs = append(ivs, Interval{first, last})
		case ok && first == previous+1 && first == last && ivs[len(ivs)-1].First == previous:
			ivs[len(ivs)-1].Last = last // two consecutive single indexes are one interval
		default:
			fragment, _, _ := strings.Cut(s[at:], ",")
			return Set{}, &SyntaxError{Fragment: fragment, Offset: at, Reason: whyNotCanonical(fragment, previous)}
		}
		if end == len(s) {
			return newSet(ivs, sum(ivs)), nil
		}
		previous, at = last, end+1
	}
}

// maxDigits is the number of digits of Max.
const maxDigits = 10

// number reads the digits at s[at:]. It returns their value and where they end. The value is
// -1 if they are not a canonical index.
func number(s string, at int) (value int32, end int) {
	n := uint64(0) // wraps around only beyond maxDigits
	for end = at; end < len(s); end++ {
		digit := s[end] - '0'
		if digit > 9 {
			break
		}
		n = 10*n + uint64(digit)
	}
	if end == at || end > at+maxDigits || n > uint64(Max) || s[at] == '0' && end > at+1 {
		return -1, end
	}
	return int32(n), end
}

// whyNotCanonical returns the first reason why a fragment cannot follow the index previous
// in canonical text.
func whyNotCanonical(fragment string, previous int32) string {
	parts := strings.SplitN(fragment, "-", 3)
	if len(parts) > 2 {
		return "an interval has two parts"
	}
	var bounds [2]int32
	for i, part := range parts {
		value, _ := number(part, 0)
		switch {
		case part == "":
			return "an index is missing"
		case strings.Trim(part, "0123456789") != "":
			return "an index has digits only"
		case part[0] == '0' && part != "0":
			return "an index has no leading zero"
		case value < 0:
			return fmt.Sprintf("an index is at most %d", Max)
		}
		bounds[i] = value
	}
	first, last := bounds[0], bounds[len(parts)-1]
	switch {
	case last < first:
		return "an interval ends after it starts"
	case len(parts) == 2 && first == last:
		return "one index is written as itself"
	case len(parts) == 2 && first+1 == last:
		return "two consecutive indexes are written with a comma"
	case first <= previous:
		return fmt.Sprintf("indexes increase, and %d came before", previous)
	}
	return "three or more consecutive indexes are written first-last"
}
