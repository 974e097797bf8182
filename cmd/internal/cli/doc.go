// Package cli is the command jobfate without its main function. The kubectl plugin shares
// its reports and its output.
//
// [Explain], [Validate] and [Simulate] take objects from any source and print to an
// [Environment], without access to files or clusters. [Run] is the command, which reads the
// objects from files.
//
// Other packages decide, explain and validate.
package cli
