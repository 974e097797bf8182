// Package vectors defines the format of the cases in the folder vectors, and runs jobfate on
// them. The README of that folder explains the fields.
//
// The package knows no rule for Jobs: the cases contain the behaviour of the real controller. When
// jobfate differs from a case, a table of the package names the rule that the difference is about.
package vectors
