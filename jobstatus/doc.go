// Package jobstatus reads the status of a Job.
//
// [OutcomeOf] says what has become of a Job, to any reader. A condition counts only when
// its status is True. A Job ends in two steps: it is decided how it ends, and once no
// pod is active, terminating or uncounted it has ended.
//
// [Indexes] and [IndexesFinished] say which indexes are done, [PodsHeld] and [DemandOf]
// what a Job holds and may still need, for queues that reserve resources for it, and
// [ExpiresAt] when it may be deleted.
//
// [Patch] writes a status, and [Equal] compares two.
package jobstatus
