// Package adopters runs functions of other projects that read Jobs, and the functions of jobfate
// that replace them. docs/replace.md describes both, and names the differences.
//
// # Access to unexported code
//
// As in test/kubernetes/conformance/real, unexported functions are linked with go:linkname.
package adopters
