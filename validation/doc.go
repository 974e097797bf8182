// Package validation applies the API server's validation of Jobs to the published batch/v1
// types: for creation, for an update, and for an update of the status. Field paths, error
// types, messages and their order are those of Kubernetes 1.37 with its default feature
// gates, or of the release that an [Option] names. A controller or a test can thus find out before a write whether
// the API server would reject it, and why. It reads no pods.
//
// # What to call
//
//   - [Create] for a new Job. Pass it the copy that defaulting.Prepared returns, with what the API server sets
//     first.
//   - [JobTemplate] for the template of a CronJob.
//   - [Update] for a change of metadata and spec. The API server compares two Jobs with all
//     defaults, so a manifest needs defaulting.Job and PodSpec first. See the example.
//   - [StatusUpdate] for a change of the status. As in the API server, most rules apply
//     only if a field that they depend on has changed: an invalid status may stay as it
//     is.
//   - [Status] for one status with all rules, whatever has changed. A controller whose
//     statuses all pass it never gets stuck on a rejected status.
//   - [Warnings] for the warnings of the API server, [Advice] for additional ones of this
//     package, and [StatusAdvice] for a status that has grown large.
//   - [IndexesSize] for the size limits of KEP-3850.
//
// # What is not checked
//
// The pod template is checked only where a rule of the Job reads it: the restart policy,
// the labels, which include those that the API server generates, the container names in a
// failure policy, the length of the pods' host names, and which parts may change. The API server
// may still reject a template that passes, for example because of its containers or volumes.
// [Update] compares whole templates. The API server first drops the fields of alpha features that
// are off, so it accepts an update of an immutable template that only sets such a field.
//
// The checks set no defaults. A nil field counts as absent. If the API server always
// defaults a field before validation, a rule uses the default or is skipped. No input
// makes a function of this package panic. A nil Job counts as an empty one. Functions
// never change their arguments.
//
// Times are compared as the API server sees them: truncated to whole seconds, and the zero
// time counts as absent.
//
// # Messages
//
// The messages are those of 1.37, with any release of apimachinery. The only exception
// is metadata (names, labels, annotations, owner references, finalizers): apimachinery
// validates it, with the messages of the release in use.
package validation
