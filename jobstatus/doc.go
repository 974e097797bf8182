// Package jobstatus decides how a Job ends, and reads and writes its status.
//
// A Job ends in two steps. First an interim condition says what has been
// decided: SuccessCriteriaMet or FailureTarget. Only when no pod is active or
// terminating and every pod is counted does the terminal condition follow,
// Complete or Failed, with the same reason and message. Whether a Job can end
// in several ways at once is settled by one ordered table; [Ends] returns its
// rows.
//
// [OutcomeOf] is the one function that tells any reader what has become of a
// Job. A condition counts only when its status is True.
//
// [DemandOf] bounds the pods that a Job can still run, for queues that reserve
// resources for them.
package jobstatus
