// Package explain gives the reasons of a decision: why the Job and each of its indexes are
// in their state, what the Job waits for, whether it can still succeed, and what is
// unexpected in the snapshot.
//
// [Of] explains a [decide.Decision], with Events, Nodes, the owners of the Job and what its pods need
// as further evidence.
// [Unmanaged] explains a Job that another controller manages. Each answer is computed when
// it is requested, so a decision that is not explained has no extra cost.
//
// To explain a Job of another controller, decide without a backoff record, in the name of that
// controller, with [decide.ManagedBy]. If it runs custom resources as Jobs,
// [decide.OwnerKind] must have their kind and [decide.Keys] the names that it uses on pods.
// Without these options all pods seem to have other owners, and the Job seems to need new ones.
//
// [Explanation.Job] gives the reason within the decision. [Explanation.Cause] also examines the
// pods, what they need, the owners of the Job, and overdue steps. One ordered table says for each
// cause what it requires, what it means and what to do.
//
// Texts contain names and messages of the input as they are: a program that prints them to a terminal
// must escape control characters, as the command does.
//
// The package reads a decision, its snapshot and the evidence, and changes none of them.
package explain
