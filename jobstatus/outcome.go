package jobstatus

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Phase summarizes the state of a Job.
type Phase string

const (
	// Running Jobs are neither suspended nor ending.
	Running Phase = "Running"
	// Suspended Jobs are suspended.
	Suspended Phase = "Suspended"
	// Succeeding Jobs will be Complete once their pods are gone.
	Succeeding Phase = "Succeeding"
	// Failing Jobs will be Failed once their pods are gone.
	Failing Phase = "Failing"
	// Complete Jobs have ended with success.
	Complete Phase = "Complete"
	// Failed Jobs have ended without success.
	Failed Phase = "Failed"
)

// Outcome is the state of a Job and the condition that it is read from.
type Outcome struct {
	Phase Phase
	// Reason and Message are those of the condition; empty while the Job runs.
	Reason  string
	Message string
	// Since is when the condition became true; zero while the Job runs.
	Since time.Time
}

// Decided reports whether the Job has an interim or terminal condition, so that its end is
// known.
func (o Outcome) Decided() bool {
	return o.Phase != Running && o.Phase != Suspended
}

// Terminal reports whether the Job has ended. A Job that is decided but not terminal still
// has pods that are active, terminating or uncounted.
func (o Outcome) Terminal() bool { return o.Phase == Complete || o.Phase == Failed }

// outcomes lists the conditions and their phases, in order of precedence.
var outcomes = [...]struct {
	condition batchv1.JobConditionType
	phase     Phase
}{
	{batchv1.JobFailed, Failed},
	{batchv1.JobComplete, Complete},
	{batchv1.JobSuccessCriteriaMet, Succeeding},
	{batchv1.JobFailureTarget, Failing},
	{batchv1.JobSuspended, Suspended},
}

// Finished returns the terminal condition of the Job, Complete or Failed, or nil
// while it has none. The condition is the Job's own and must not be changed.
func Finished(job *batchv1.Job) *batchv1.JobCondition {
	if job == nil {
		return nil
	}
	return True(job.Status.Conditions, batchv1.JobComplete, batchv1.JobFailed)
}

// True returns the first condition of one of the types that has the status True, or nil.
func True(conditions []batchv1.JobCondition, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range conditions {
		if c := &conditions[i]; slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// OutcomeOf returns the outcome of a Job. Readers need no other check of the conditions: their
// order does not matter, and a condition that is not True is ignored. If a Job is both Failed and
// Complete, it has failed.
func OutcomeOf(job *batchv1.Job) Outcome {
	if job == nil {
		return Outcome{Phase: Running}
	}
	for _, o := range outcomes {
		if c := True(job.Status.Conditions, o.condition); c != nil {
			return Outcome{Phase: o.phase, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time}
		}
	}
	return Outcome{Phase: Running}
}
