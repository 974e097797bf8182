// Package house has no code, only tests of the repository: the picture in
// docs/architecture.md shows the imports, the listing in the folder api is the public API,
// each package says what it does not know, and what docs/kep-coverage.md and docs/upstream
// name exists.
//
// The package knows nothing of the others except their source.
package house
