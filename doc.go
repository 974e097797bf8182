// Package jobfate decides what to do about a Kubernetes Job as its controller does: which pods to
// create and delete, which failures count and against which limit, when an index or the Job has
// failed or succeeded, which finalizers to remove, which status to write, and when to sync again.
//
//	decision, err := jobfate.Decide(jobfate.Snapshot{Job: job, Pods: pods, Now: now})
//
// [Decide] is a pure function of a Job, its pods and the time: it does no I/O and reads no clock.
// Commands, queues and simulations call it. Controllers keep a [Machine] for each Job, which
// carries decisions out; its documentation says how, and what the caller guarantees.
// docs/divergences.md lists where both differ from the Job controller of Kubernetes 1.37.
//
// The packages of this module can be used alone:
//
//   - indexset: sets of completion indexes
//   - backoff: when a failed pod may be replaced
//   - failurepolicy: what the rules of a pod failure policy say about a failed pod
//   - group: what the failure of a Job means for its group
//   - tracking: how pods are counted exactly once
//   - validation: what the API server accepts
//   - jobstatus: what a status says
//
// Package explain gives the reasons of a decision.
package jobfate
