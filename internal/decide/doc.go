// Package decide is the decision itself, as values in four steps. Each is returned
// by the function that makes it, and none changes after that, but for the census in a
// View: it is that of its [Tally], which may go on to the next decision.
//
//	Tally: Input → View         what there is, checked, with defaults, and what to claim
//	plan:  View → Plan          how the Job stands; which pods to create and delete
//	Close: Plan → Outcome       the status, the finalizers, the end, when to look again
//	Settle: Outcome → Settled   the status once finalizers are gone
//
// An Outcome takes for granted that everything of its Plan succeeds. [Outcome.Close]
// closes the same Plan again, with what has become of it.
//
// The files stand in this order: input, check, tally, texts, view, policy, totals, plan, manage, choose,
// remove, create, rebuild, outcome, throttle, status, settle, metrics.
//
// The package knows no requests and no answers: package machine does.
package decide
