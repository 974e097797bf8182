package indexset

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseDamaged makes the best of s, a field of the status of a Job with that
// many completions. The set is within [0, completions) whatever s is. Fragments
// are read as the Job controller reads them (parseIndexesFromString, Kubernetes
// 1.36):
//
//   - one that is not a number or two is skipped;
//   - one that starts at completions or past it ends the reading, whatever the
//     rest of it;
//   - one that ends there is cut short;
//   - a third part is ignored, so that "1-2-3" is "1-2".
//
// What the controller then takes for a sorted list is here made into a set: a
// reversed fragment such as "9-3" stands for nothing, overlaps count once, and
// order does not matter.
//
// The damage is nil for what String writes of indexes below completions, and otherwise
// says where s first departs from that, also in the part that is not read. For text that
// is canonical and goes on past completions, as after an Indexed Job was scaled down, it
// names the fragment that was cut.
func ParseDamaged(s string, completions int32) (set Set, damage *SyntaxError) {
	set, fault := parse(s)
	if fault == nil && set.isBelow(completions) {
		return set, nil
	}
	read := readDamaged(s, int64(completions))
	if fault == nil {
		fragment, _, _ := strings.Cut(s[read.cut:], ",")
		fault = &SyntaxError{Fragment: fragment, Offset: read.cut, Reason: fmt.Sprintf("completions are %d", completions)}
	}
	return read.set, fault
}

// reading is what was read of a text, and the offset of the first fragment that
// had to be cut, -1 if there was none.
type reading struct {
	set Set
	cut int
}

func readDamaged(s string, completions int64) reading {
	var b Builder
	cut, offset := -1, 0
	for fragment := range strings.SplitSeq(s, ",") {
		iv, ok := damagedInterval(fragment, completions)
		if ok && cut < 0 && iv.last >= completions {
			cut = offset
		}
		if ok && iv.first >= completions {
			break
		}
		if ok {
			b.AddRange(int32(iv.first), int32(min(iv.last, completions-1)))
		}
		offset += len(fragment) + 1
	}
	return reading{b.take(), cut}
}

// damagedInterval reads a fragment, and reports whether it could be read. One
// that starts at completions or past it ends there: its second part is not
// looked at.
func damagedInterval(fragment string, completions int64) (iv limits, ok bool) {
	first, rest, two := strings.Cut(fragment, "-")
	var err error
	if iv.first, err = strconv.ParseInt(first, 10, 64); err != nil {
		return iv, false
	}
	iv.last = iv.first
	if two && iv.first < completions {
		second, _, _ := strings.Cut(rest, "-")
		iv.last, err = strconv.ParseInt(second, 10, 64)
	}
	return iv, err == nil
}
