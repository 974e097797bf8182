// Package vectors defines the format of the cases in this folder, and runs jobfate on them. README.md
// explains the fields. The cases contain the behaviour of the real controller too.
package vectors
