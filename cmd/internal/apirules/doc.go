// Package apirules has rules of the API server that package validation leaves out: those of a CronJob,
// and the ones of a pod template that users break most.
//
// The messages are those of Kubernetes 1.37; e2e/plugin compares them. What it does not check: affinity,
// topology spread, tolerations, security contexts, lifecycle hooks, resource claims, DNS settings, and the
// inside of volume sources beyond the names in them.
package apirules
