// Package decide decides what to do about a Kubernetes Job as its controller does: which pods to create and delete,
// which failures count and against which limit, when an index or the Job has failed or succeeded, which finalizers to
// remove, which status to write, and when to sync again.
//
//	decision, err := decide.Job(decide.Snapshot{Job: job, Pods: pods, Now: now})
//
// [Job] is a pure function of a Job, its pods and the time: it does no I/O and reads no clock. A caller that decides on
// the same Job again and again keeps its [Pods], so that a decision costs what has changed. Package machine carries
// decisions out. docs/divergences.md lists where they differ from those of the Job controller of Kubernetes 1.37.
package decide
