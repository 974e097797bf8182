package indexset

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseDamaged parses s, a status field of a Job with the given completions, as far as
// possible. The set is always within [0, completions). ParseDamaged reads fragments as the
// Job controller does (parseIndexesFromString, Kubernetes 1.36):
//
//   - a fragment that is not one or two numbers is skipped;
//   - a fragment that starts at completions or later ends the parsing, whatever its rest;
//   - a fragment that extends beyond completions is cut;
//   - a third part is ignored, so "1-2-3" is "1-2".
//
// The controller treats the result as a sorted list. ParseDamaged makes it a set: a
// reversed fragment such as "9-3" is empty, overlaps count once, and order does not
// matter.
//
// The damage is nil if s is what String writes for indexes below completions. Otherwise it
// is the first difference from that, even in the part that is not parsed. If s is
// canonical but extends beyond completions, as after an Indexed Job was scaled down, the
// damage names the fragment that was cut.
func ParseDamaged(s string, completions int32) (set Set, damage *SyntaxError) {
	set, fault := parse(s)
	if fault == nil && set.isBelow(completions) {
		return set, nil
	}
	var b Builder
	end, offset := int64(completions), 0
	for fragment := range strings.SplitSeq(s, ",") {
		iv, ok := damagedInterval(fragment, end)
		if ok && iv.last >= end && fault == nil {
			fault = &SyntaxError{Fragment: fragment, Offset: offset, Reason: fmt.Sprintf("completions are %d", completions)}
		}
		if ok && iv.first >= end {
			break
		}
		if ok {
			b.AddRange(int32(iv.first), int32(min(iv.last, end-1)))
		}
		offset += len(fragment) + 1
	}
	return b.take(), fault
}

// damagedInterval parses a fragment, and reports whether it could be parsed. If the fragment
// starts at completions or later, its second part is not parsed.
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
