// Package sync compares one sync of the real Job controller with one decision of jobfate. It
// contains only tests.
//
// A trial is a snapshot with the writes that will fail, the limits, and the features that
// are off. The real controller runs one sync of it, through package real. jobfate decides,
// and a caller carries the decision out against the same faults. Both produce an outcome:
// the writes in their order, the events, the metrics, the time of the next sync, and the
// remembered state. The two outcomes must be equal.
//
// The snapshots are drawn (TestSync), or those of a Machine in a simulated life (TestLived), or written by hand.
//
// If they are not, an entry of docs/divergences.md must account for the whole difference. In
// the code such an entry is an excuse in the table excuses: it changes the input or the
// output of the real controller exactly as the entry says. Then the outcomes must be equal.
//
// The real controller gets the pods sorted by index and UID, and the Job with its defaults.
// jobfate gets the pods in any order, and the Job without defaults.
package sync
