// Package explain says why a decision is what it is: why a Job is where it is, for
// the Job and for each index; what it waits for; whether it can still succeed; and
// what in the snapshot was not as it should be.
//
// [Of] explains a [jobfate.Decision]. What is asked for is worked out when it is
// asked for, so it costs a decision nothing.
package explain
