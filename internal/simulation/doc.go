// Package simulation plays a Job in virtual time: a [Scenario] says what becomes
// of its pods and what happens to the Job, and [Play] carries the decisions of
// jobfate out on a simulated cluster until the Job has ended. The [Result] tells
// of every pod, every status and every wait.
//
// It is pure. The same Job, scenario and seed always give the same result.
package simulation
