// Package census keeps what is known of the pods of a Job, and says which of them may be
// counted and which finalizers may go (KEP-2307).
//
// A [Classifier] holds the parts of the Job that decide how a pod is classified, a
// [Record] what is known of one pod, and a [Census] the records and what follows from
// them. Pods go in and out one by one.
// [Census.Account] works out the next step of counting, and [Account.Settle] what the
// counters are once finalizers are gone. For Indexed Jobs [Census.IndexResults] says
// which indexes are done, and [Census.Predecessors] which failed pods wait for their
// replacement.
//
// The first classification of a pod sticks. A UID that a list of the status holds as
// failed stays failed, whatever phase the pod shows later, so no pod is charged twice.
//
// The package does not know how many pods a Job should have: it decides nothing about
// their number.
package census
