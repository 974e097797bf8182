// Package house has no code, only tests of how the repository is laid out: that the picture
// in docs/architecture.md shows the imports, that the listing in the folder api is the
// public API, and that each package says what it does not know.
//
// The package knows nothing of the others but their source.
package house
