// Package tracking counts each finished pod of a Job once, with the help of finalizers
// (KEP-2307).
//
// A pod of a Job has the finalizer batch.kubernetes.io/job-tracking from its creation, so
// it cannot disappear before it is counted. Counting takes several steps, because no write
// changes both a pod and its Job:
//
//  1. Add the UID of a finished pod to status.uncountedTerminatedPods.
//  2. Store that status.
//  3. Remove the finalizer.
//  4. Remove the UID from the list and increment the counter, in one status write.
//
// A controller may stop between any two steps and start again with step 1. A UID is never
// added to a list twice, and it leaves the list only after the finalizer of its pod is
// removed.
//
// In Indexed Jobs a succeeded pod is not added to the list. Its index in
// status.completedIndexes shows that it is counted (KEP-2307 § Simplified algorithm for
// Indexed Jobs).
//
// The first classification of a pod is final. A UID that a list holds as failed remains
// failed, whatever phase the pod shows later, so no pod is counted twice.
//
// [Keys] are the names of the finalizer, annotations, labels and the environment variable that a
// controller sets on its pods, and make the patches of step 3. [Controller] reports which Jobs a
// controller manages, and which pods no controller will count. Package counting does steps 1 and 4,
// package decide does them and decides how many pods a Job should have.
package tracking
