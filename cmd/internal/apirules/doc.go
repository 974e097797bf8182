// Package apirules has rules of the API server that package validation leaves out: those for
// CronJobs, and those for pod templates that users break most.
//
// The messages are those of Kubernetes 1.37; e2e/plugin compares them. Not checked are affinity,
// topology spread, tolerations, security contexts, lifecycle hooks, resource claims, DNS settings,
// and volume sources beyond the names in them.
package apirules
