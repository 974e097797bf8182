// Package adopters runs functions of other projects that read Jobs, and the functions of jobfate
// that replace them. docs/replace.md describes both, and names the differences. The command adopt runs the tests of the
// projects with jobfate inside.
//
// # Access to unexported code
//
// As in test/kubernetes/conformance/real, unexported functions are linked with go:linkname.
package adopters
