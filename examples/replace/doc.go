// Package replace has functions that other projects write by hand, written with jobfate.
// docs/replace.md compares them with the originals.
package replace
