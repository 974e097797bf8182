// Package explain says why a decision is what it is: why a Job is where it is, for
// the Job and for each index; what it waits for; whether it can still succeed; and
// what in the snapshot was not as it should be.
//
// [Of] explains a [jobfate.Decision], with Events and Nodes as
// further evidence. [Unmanaged] explains a Job on which another controller decides.
// What is asked for is worked out when it is asked for, so it costs a decision
// nothing.
//
// [Explanation.Job] says what the decision says. [Explanation.Cause] looks further,
// at what the pods say of themselves and at what is overdue: a decision to create
// pods that no controller carries out, or active pods that cannot pull their image.
package explain
