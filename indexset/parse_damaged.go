package indexset

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseDamaged parses s, a status field of a Job with the given completions, as far as
// possible. The set is always within [0, completions). ParseDamaged reads fragments as the
// Job controller does (parseIndexesFromString, Kubernetes 1.37):
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
// is the error of Parse, which may be in the part that is not parsed. If s is canonical but
// extends beyond completions, as after an Indexed Job was scaled down, the damage names the
// first fragment that was cut.
func ParseDamaged(s string, completions int32) (set Set, damage *SyntaxError) {
	set, damage = parse(s)
	if damage == nil && set.isBelow(completions) {
		return set, nil
	}
	var b Builder
	end, offset := int64(completions), 0
	for _, fragment := range strings.Split(s, ",") {
		parts := strings.SplitN(fragment, "-", 3)
		first, err := strconv.ParseInt(parts[0], 10, 64)
		last := first
		if len(parts) > 1 && err == nil && first < end {
			last, err = strconv.ParseInt(parts[1], 10, 64)
		}
		if err == nil {
			if last >= end && damage == nil {
				damage = &SyntaxError{Fragment: fragment, Offset: offset,
					Reason: fmt.Sprintf("completions are %d", completions)}
			}
			if first >= end {
				break
			}
			b.AddRange(int32(first), int32(min(last, end-1)))
		}
		offset += len(fragment) + 1
	}
	return b.Set(), damage
}
