// Package simulation plays a Job in virtual time: a [Scenario] says what becomes
// of its pods and what happens to the Job, and [Play] carries the decisions of
// jobfate out on a simulated cluster until the Job has ended. The [Result] has every
// pod, every wait and every change of a condition.
//
// No simulation runs forever or fills the memory: see [Bounds].
//
// It is pure. The same Job, scenario and seed always give the same result.
//
// The package knows no rule for Jobs: the decisions are those of jobfate.
package simulation
