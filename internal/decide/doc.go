// Package decide makes a decision about a Job in four steps. Each step is a function that
// returns a complete value. The values do not change afterwards, except for the census in a
// View: it belongs to the [Tally], which goes on to the next decision.
//
//	Tally: Input → View         the checked input with its defaults, and the pods to claim
//	plan:  View → Plan          the state of the Job; which pods to create and delete
//	Close: Plan → Outcome       the status, the finalizers, the end, the next sync
//	Settle: Outcome → Settled   the status after finalizers are removed
//
// An Outcome assumes that all writes of its Plan succeed. If some failed, [Outcome.Close]
// closes the same Plan again with their results.
//
// Read the files in this order: input, check, view, tally, plan, manage, remove, create,
// outcome, status, metrics.
//
// The package knows no requests and no answers: package machine does.
package decide
