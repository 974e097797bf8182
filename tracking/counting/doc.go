// Package counting is the rule of KEP-2307 alone: which pods of a Job to record next, and which finalizers may go then.
// It is for controllers that decide everything else themselves; decide.Job includes it.
//
// [Count] does step 1 of package tracking, and [Counted.Settle] step 4. [EnterTracking] and [LeaveTracking] move a Job
// to and from tracking with finalizers.
package counting
