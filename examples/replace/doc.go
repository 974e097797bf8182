// Package replace implements functions of other projects with jobfate. docs/replace.md compares
// them with the originals.
package replace
