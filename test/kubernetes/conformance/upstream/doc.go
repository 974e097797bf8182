// Package upstream reproduces defects of the Job controller of Kubernetes, with one test for
// each report in docs/upstream. If a test fails, the release no longer has the defect that
// the report describes.
package upstream
