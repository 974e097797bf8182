// Package house has no code, only tests of the repository: the picture in
// docs/architecture.md shows the imports, the folder api lists the public API, each package
// says what it does not know, and the functions and tests in docs/kep-coverage.tsv and
// docs/upstream exist, and so do the tests of commands in documents.
//
// The package knows only the source of the other packages.
package house
