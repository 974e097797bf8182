// Package upstream reproduces what is wrong with the Job controller of Kubernetes, one
// test for each report in docs/upstream. A test that fails says that a release no longer
// does what the report says.
package upstream
