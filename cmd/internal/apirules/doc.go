// Package apirules has rules of the API server that package validation leaves out: those for
// CronJobs, and those for pod templates that users break most.
//
// The messages are those of Kubernetes 1.37; test/kubernetes/e2e/plugin compares them. docs/command.md names fields
// of the pod template that are not checked.
package apirules
