// Package indexset implements sets of Job completion indexes and their text form, which is
// used in status.completedIndexes, status.failedIndexes and
// successPolicy.rules[].succeededIndexes.
//
// # Text
//
//	text  = [ item { "," item } ]
//	item  = index | index "-" index
//	index = "0" | ( "1" … "9" ) { digit }
//
// [Set.String] writes the canonical text of a set, which is unique:
//
//   - Bounds. An index is in [0, 2147483646], because completions are at most
//     2147483647. It has no sign, no leading zero and no surrounding space.
//   - Order. Indexes increase from left to right, none appears twice, and intervals
//     do not overlap.
//   - Grouping. Three or more consecutive indexes are written first-last, two as a
//     pair with a comma. Adjacent intervals are always merged.
//   - The empty set is the empty text.
//
// For example, the set {1, 3, 4, 5, 7} is "1,3-5,7", and {3, 4} is "3,4".
//
// # Three parsers
//
//   - [Parse] is strict: it accepts only canonical text.
//   - [ParseOrdered] accepts what the API server accepts, and rejects the rest with the
//     same messages: order matters, spelling and grouping do not.
//   - [ParseDamaged] never fails. It reads any text as the Job controller does, always
//     returns a set, and reports what was wrong.
//
// In the types of a CRD use a string, and [ParseDamaged]: a field that another client has edited by hand must
// not stop the informer that reads all objects of a kind.
//
// # Cost
//
// A [Set] is a list of sorted, disjoint, non-adjacent intervals. Time and memory depend on
// the number of intervals, never on their length: the set "0-2147483645" is one interval.
package indexset
