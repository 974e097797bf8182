// Package indexset holds sets of Job completion indexes and their text form,
// that of status.completedIndexes, status.failedIndexes and
// successPolicy.rules[].succeededIndexes.
//
// # Text
//
//	text  = [ item { "," item } ]
//	item  = index | index "-" index
//	index = "0" | ( "1" … "9" ) { digit }
//
// The canonical text of a set is the only one that [Set.String] writes:
//
//   - Bounds. An index lies in [0, 2147483646], for completions are at most
//     2147483647. It has no sign, no leading zero and no space around it.
//   - Order. Indexes increase from left to right; none appears twice, and
//     intervals do not overlap.
//   - Grouping. Three or more consecutive indexes are written first-last, two
//     as a pair with a comma, so that adjacent intervals are always one.
//   - The empty set is the empty text.
//
// The set {1, 3, 4, 5, 7} is thus "1,3-5,7", and {3, 4} is "3,4".
//
// # Three parsers
//
//   - [Parse] is strict: it takes canonical text and nothing else.
//   - [ParseOrdered] takes what the API server takes, and refuses the rest in
//     the same words: order matters, spelling and grouping do not.
//   - [ParseDamaged] never refuses. It reads any text as the Job controller
//     would, makes a set of it in every case, and says what was wrong.
//
// # Cost
//
// A [Set] is a list of sorted, disjoint, non-adjacent intervals. Time and
// memory follow the number of intervals, never their length: the set
// "0-2147483645" is one interval.
package indexset
