// Package census classifies the pods of a Job, and decides which of them may be counted and
// which finalizers may be removed (KEP-2307).
//
// A [Classifier] holds the parts of the Job that the classification depends on. A [Record]
// is the classification of one pod. A [Census] holds all records and the totals; pods are
// added to it and removed from it one by one. [Census.Account] returns the next step of
// counting, and [Account.Settle] the counters after the finalizers are removed. For Indexed
// Jobs [Census.IndexResults] returns which indexes are done, and [Census.Predecessors] which
// failed pods wait for their replacement.
//
// The first classification of a pod is final. A UID that a list of the status holds as
// failed remains failed, whatever phase the pod shows later, so no pod is counted twice.
//
// The package does not know how many pods a Job should have: it decides nothing about
// their number.
package census
