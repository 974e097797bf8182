// Package jobstatus reads the status of a Job.
//
// [OutcomeOf] returns the outcome of a Job from its conditions. A condition counts only if
// its status is True. A Job ends in two steps. First it is decided: an interim condition,
// FailureTarget or SuccessCriteriaMet, says how it ends. The terminal condition, Failed or
// Complete, follows when no pod is active, terminating or uncounted any more. A status without its Job, as other
// objects have, is read as &batchv1.Job{Status: status}.
//
// [Indexes] and [IndexesFinished] return the indexes that are done. Three are for queues that reserve resources for
// a Job: [Reclaimable] says what it will never need again, [PodsHeld] how many pods it holds, and [Suspension] whether
// a suspended Job may still get pods. What it may still need says DemandOf in package decide.
//
// [Patch] makes the patch that writes a status, and [Equal] compares two statuses.
package jobstatus
