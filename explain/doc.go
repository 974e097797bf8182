// Package explain gives the reasons of a decision: why the Job and each of its indexes are
// in their state, what the Job waits for, whether it can still succeed, and what is
// unexpected in the snapshot.
//
// [Of] explains a [decide.Decision] by what it follows from alone. Each answer is computed when
// it is requested, so a decision that is not explained has no extra cost. What else may keep a Job
// from making progress, as Events, Nodes or its owners show it, is in package diagnose of the
// module cmd, which adds to an Explanation with [Explanation.With].
//
// To explain a Job of another controller, decide without a backoff record, in the name of that
// controller, with [decide.ManagedBy]. If it runs custom resources as Jobs,
// [decide.OwnerKind] must have their kind and [decide.Keys] the names that it uses on pods.
// Without these options all pods seem to have other owners, and the Job seems to need new ones.
//
// Texts contain names and messages of the input as they are: a program that prints them to a terminal
// must escape control characters, as the command does.
//
// The package reads a decision and its snapshot, and changes neither.
package explain
