// Package jobfate decides the fate of a Kubernetes Job. A Job and a snapshot of
// its pods go in, a decision comes out: which pods to create and delete, which
// finalizers to remove, which status to store, when to look again, and why. It
// makes the decisions that the Job controller of Kubernetes 1.36.3 makes; where
// it does not, docs/divergences.md says so.
//
// It does no I/O, reads no clock and keeps nothing between calls. The caller
// carries the decision out.
//
// # The caller's protocol
//
// For each Job, one at a time:
//
//  1. Take a snapshot: the Job, its pods and the pods of its namespace that
//     nobody controls, one reading of the clock, what was written and is not to
//     be seen yet (InFlight), and the backoff record that was remembered for
//     the Job's UID. The pods must be at least as fresh as the Job, and after a
//     restart stay so: one live read does not help if the next snapshot comes
//     from a cache that is older.
//  2. Call [Decide]. An error means that the Job cannot be decided; it names
//     the field. Tell the user, and look again when the Job changes.
//  3. Send the patches of Claim. Before the first adoption, make sure with a
//     live read that the Job with this UID still exists and is not being deleted. If
//     a claim fails, start again with step 1; an adoption has failed, too, if the
//     pod is gone, for then it must not be counted. Add the pods that were released
//     or freed to those in flight that have lost their finalizer.
//  4. Carry out Delete: first the patch of each deletion that has one, then the
//     deletion itself. Or carry out Create, in growing batches: 1, 2, 4 and so
//     on, and no further once one has failed. A pod that is gone already counts
//     as deleted. Add what was created and deleted, and what has lost its finalizer
//     first, to what is in flight. Send the Event of each.
//  5. If some of that failed, call [Decision.Revise] and go on with what it
//     returns.
//  6. If Status is set, store it. The write must fail if the Job has changed
//     since the snapshot: [Decision.StatusPatch] sees to that. If it fails,
//     start again with step 1, and remove no finalizer. If there was no answer, as
//     after a timeout, the status may have been stored all the same: the backoff
//     record is then in doubt.
//  7. Remember Backoff; count Metrics; send Events.
//  8. Remove the finalizer of each pod in Strip, with [tracking.Keys.StripPatch]. A pod
//     that is gone already has lost it. Add the pods to what is in flight.
//  9. Call [Decision.Settle] with the pods that have lost their finalizer. If
//     its Status is set, store it, on top of the one stored in step 6. Then
//     count its Metrics and send its Events.
//  10. Look again when the Job or one of its pods changes, and after Requeue if
//     that is set. If anything failed, look again soon in any case.
//
// The caller may stop, or be stopped, between any two writes, and begin again
// with step 1. No pod is counted twice, and none is lost. What makes that so is
// the order: a pod is recorded in the status before its finalizer goes, and it
// leaves the record for the counter only when its finalizer is gone (KEP-2307).
//
// # What the caller remembers
//
// All of it is keyed by the UID of the Job, never by its name, and forgotten
// when the Job is gone. The package inflight remembers it, and makes the
// snapshots:
//
//   - InFlight: a creation is in flight until the pod is seen or its absence is
//     certain. Where an answer may be lost, make the name up from GenerateName
//     yourself: a creation that is sent again then makes no second pod. If it is
//     answered with AlreadyExists, read the pod by name: it may have finished since. When to
//     ask the API server for a pod that does not show is the caller's to say. A
//     deletion is in flight until the pod is gone or has a deletion timestamp; a
//     removed finalizer until the pod is gone or shows no finalizer; a stored
//     status until the Job shows its resource version.
//   - Backoff, and whether it is in doubt (BackoffInDoubt): from the start until a
//     status is stored, and from a status without an answer until the next. With a
//     backoff limit per index nothing is in doubt: the pods carry it.
//
// # Pods without a Job
//
// A pod may outlive its Job, or lose its owner. Its finalizer then keeps it from
// being deleted, and no decision about any Job will remove it.
// [tracking.Controller.Frees] tells when a controller may. Ask it for each pod
// that carries the finalizer and whose Job cannot be found.
package jobfate
