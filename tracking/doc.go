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
// [Keys.Count] does step 1, and [Counted.Settle] does step 4. [Keys] are the names of the
// finalizer, annotations, labels and the environment variable that a controller sets on its
// pods. [Controller] reports which Jobs a controller manages, and which pods no controller
// will count.
//
// Package jobfate uses the rest. A [Classifier] makes a [PodRecord] of each pod, and
// [Classifier.Account] takes step 1 for the records of the pods whose finalizer may be removed.
//
// The package counts the pods that exist; package jobfate decides how many a Job should have.
package tracking
