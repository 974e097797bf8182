// Package tracking counts the pods of a Job with finalizers (KEP-2307), and holds what
// else a controller needs for it.
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
// A controller may stop between any two steps and begin again with step 1: a UID in a
// list is never added a second time, and it leaves the list only when its finalizer is
// gone.
//
// For Indexed Jobs a succeeded pod skips the list: its index in
// status.completedIndexes says that it is counted (KEP-2307 § Simplified
// algorithm for Indexed Jobs).
//
// The first classification of a pod sticks. A UID that a list holds as failed
// stays failed, whatever phase the pod shows later, so no pod is charged twice.
//
// [Keys.Count] does step 1 and [Counted.Settle] step 4. [Keys] are the names of the
// finalizer, annotations, labels and the variable that a controller puts on its pods,
// and [Controller] says which Jobs it manages and which pods no controller will count.
package tracking
