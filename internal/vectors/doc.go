// Package vectors is the format of the cases in the folder vectors, and runs them: it
// says what jobfate does about a case. The README there explains the fields.
//
// The package knows no rule for Jobs: the cases say what the real controller does.
package vectors
