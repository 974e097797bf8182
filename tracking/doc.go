// Package tracking decides which pods are a Job's, what each of them is to the
// Job, and when each may be counted and released (KEP-2307).
//
// A pod of a Job carries the finalizer batch.kubernetes.io/job-tracking from
// its creation, so that it cannot vanish before it is counted. It is counted in
// steps, because no write spans two objects:
//
//  1. The UID of a finished pod goes to status.uncountedTerminatedPods.
//  2. That status is stored.
//  3. The finalizer is removed.
//  4. The UID leaves the list and the counter goes up, in one status write.
//
// Whoever carries this out may stop between any two steps and begin again with
// step 1: a UID in a list is never added a second time, and it leaves the list
// only when its finalizer is gone.
//
// For Indexed Jobs a succeeded pod skips the list: its index in
// status.completedIndexes says that it is counted (KEP-2307 § Simplified
// algorithm for Indexed Jobs).
//
// The first classification of a pod sticks. A UID that a list holds as failed
// stays failed, whatever phase the pod shows later, so no pod is charged twice.
//
// The package reads pods and returns values. [Owner] tells whose a pod is;
// [Census.Read] fills a [Census] in one pass over the pods; [Census.Account] says what
// to record and which finalizers may go; [Account.Settle] says what the counters
// are once they are gone.
package tracking
