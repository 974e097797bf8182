// Package sync compares one sync of the real Job controller with one decision of
// jobfate. Everything in it is a test.
//
// A trial is a snapshot together with the writes that will fail, the limits in
// force and the features that are off. The real controller runs one sync of it,
// through package real. jobfate decides, and a caller that keeps to the protocol
// in its package comment carries the decision out, against the same faults. Both
// leave an outcome: each write in its order, the events, the metrics, the time
// to look again, and what is remembered. The two must be equal.
//
// Where they are not, one of the divergences that docs/divergences.md lists must
// account for all of the difference. A divergence is an excuse in the table
// excuses: it changes what the real controller is given, or what it answered, by
// exactly what the entry says, and then the outcomes must be equal after all.
//
// The real controller gets the pods by index, then by UID, the Job with its
// defaults; jobfate gets the pods in any order, and the Job without.
package sync
