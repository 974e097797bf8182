// Package jobfate is the map of this module: what the controller of Kubernetes decides about a Job, as pure functions.
//
// To decide about a Job, or to carry the decisions out, begin with one of these:
//
//   - decide: what to do about a Job and its pods, for commands, queues, user interfaces and simulations
//   - machine: how to carry that out, for controllers: exactly once, whatever crashes
//   - explain: why, and what the Job waits for
//   - group: what the failure of a Job means for its group
//
// The others can be used alone:
//
//   - indexset: sets of completion indexes
//   - backoff: when a failed pod may be replaced
//   - failurepolicy: what the rules of a pod failure policy say about a failed pod
//   - tracking: how pods are counted exactly once
//   - validation: what the API server accepts
//   - jobstatus: what a status says
package jobfate
