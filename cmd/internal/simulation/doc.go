// Package simulation runs a Job in virtual time. A [Scenario] defines how its pods behave
// and what else happens to the Job. [Play] carries out the decisions of jobfate on a
// simulated cluster until the Job has ended. The [Result] contains every pod, every wait and
// every change of a condition.
//
// The time and the memory of a simulation are limited: see [Bounds].
//
// The package is pure: the same Job, scenario and seed always give the same result.
package simulation
