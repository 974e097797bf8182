// Package validation holds the rules that the API server applies to a Job, on
// the published batch/v1 types: at creation, at an update, and at an update of
// the status. It gives the same field paths, error types, messages and order as
// Kubernetes 1.36.3 with its default feature gates, so a controller or a test
// learns before a write whether it would be refused, and why.
//
// # What to call
//
//   - [Create] for a new Job, after [PrepareCreate] has done what the API server
//     does first: [Default], then [GenerateSelector].
//   - [Update] for a change of metadata and spec.
//   - [StatusUpdate] for a change of the status. As in the API server, a rule
//     looks only when something that it concerns has changed: a status that was
//     wrong before may stay wrong.
//   - [Status] for one status with every rule on, whatever changed. A controller
//     whose statuses all pass it can never be stuck behind a refusal.
//   - [Warnings] for what the API server warns about, [Advice] for what this
//     package adds, and [StatusAdvice] for a status that has grown large.
//   - [RuleNames] and [RuleNamesUpdate] for the names that KEP-4443 proposes for pod
//     failure policy rules, and [IndexesSize] for the room that KEP-3850 reckons with.
//
// # What is not checked
//
// The pod template is checked only where a rule of the Job reads it: the restart
// policy, the labels that the selector must match, the labels that the API
// server generates, the names of containers that a failure policy refers to, and
// what of it may change. A template that these rules accept can still be refused
// for its containers or volumes. What the name and number of completions make of
// a pod's host name is checked.
//
// Nothing is defaulted by the checks. A nil field is read as absent, and where
// the API server would stop on it (it has always been defaulted there) the rule
// takes the default or is passed over: no input makes a function here panic. A
// nil Job is read as an empty one. Functions never change what they are given.
//
// Times are compared as the API server sees them: cut to whole seconds, the zero
// time being no time at all.
//
// # Words
//
// The messages are those of 1.36.3, whichever release of apimachinery the module
// is built with. The one exception is metadata (names, labels, annotations,
// owner references, finalizers): it is apimachinery's own check, in the words of
// the release in use.
package validation
