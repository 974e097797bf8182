// Package decidetest helps to test decisions that wait for writes to be observed or follow
// failed writes. The public [jobfate.Snapshot] expresses neither. The package draws inputs
// for package decide, converts outcomes to public decisions, parses Jobs and makes their pods.
//
// The package knows no rule for Jobs: it does not say which decision is right.
package decidetest
