// Package cli is the command jobfate, without its main function, and what the
// kubectl plugin shares with it: what explain, validate and simulate make of objects,
// and how that is printed.
//
// [Explain], [Validate] and [Simulate] take objects, wherever they come from, and
// print to an [Environment]. They know neither files nor clusters. [Run] is the command,
// which reads the objects from files.
//
// The package knows no rule for Jobs: other packages decide, explain and validate.
package cli
