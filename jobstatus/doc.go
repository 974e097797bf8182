// Package jobstatus reads the status of a Job.
//
// [OutcomeOf] returns the outcome of a Job from its conditions. A condition counts only if
// its status is True. A Job ends in two steps. First it is decided: an interim condition,
// FailureTarget or SuccessCriteriaMet, says how it ends. The terminal condition, Failed or
// Complete, follows when no pod is active, terminating or uncounted any more.
//
// [Indexes] and [IndexesFinished] return the indexes that are done. [PodsHeld] is for queues that
// reserve resources for a Job: it returns the pods that it holds; what it may still need says
// DemandOf in package decide. [Suspension] knows whether a suspended Job may still get pods.
// [ExpiresAt] returns when a Job may be deleted.
//
// [Patch] makes the patch that writes a status, and [Equal] compares two statuses.
package jobstatus
