package validation

import "k8s.io/apimachinery/pkg/util/validation/field"

// statusRule is one rule for a status. It checks either the new status alone (state) or the change (step).
type statusRule struct {
	name  string                        // what the rule rejects
	when  func(*change) bool            // StatusUpdate applies it only then; nil: always
	state func(*view) field.ErrorList   // the status by itself
	step  func(*change) field.ErrorList // the status and the one before it
}

// statusRules lists all the rules for a status, in the order in which they are reported. A rule
// with a condition has the name of its option in the API server.
var statusRules = []statusRule{
	{name: "NegativeCount", state: negativeCount},
	{name: "EmptyOrDuplicateUncountedPod", state: uncountedPods},
	{
		name: "CompleteJobWithFailedCondition",
		when: either(completeChanged, failedChanged),
		state: conditions(func(v *view) bool { return v.complete && v.failed },
			"cannot set Complete=True and Failed=true conditions"),
	},
	{
		name: "CompleteJobWithFailureTargetCondition",
		when: either(completeChanged, failureTargetChanged),
		state: conditions(func(v *view) bool { return v.complete && v.failureTarget },
			"cannot set Complete=True and FailureTarget=true conditions"),
	},
	{
		name:  "NotCompleteJobWithCompletionTime",
		when:  either(completeChanged, completionTimeChanged),
		state: notCompleteJobWithCompletionTime,
	},
	{
		name:  "CompleteJobWithoutCompletionTime",
		when:  either(completeChanged, completionTimeChanged),
		state: completeJobWithoutCompletionTime,
	},
	{
		name:  "CompletionTimeBeforeStartTime",
		when:  either(startTimeChanged, completionTimeChanged),
		state: completionTimeBeforeStartTime,
	},
	{
		// As in the API server, the rule depends on failedIndexes here, not on
		// FailureTarget. DisablingTerminalCondition catches a removed FailureTarget.
		name: "FailedJobWithoutFailureTarget",
		when: either(failedChanged, failedIndexesChanged),
		state: conditions(func(v *view) bool { return v.failed && !v.failureTarget },
			"cannot set Failed=True condition without the FailureTarget=true condition"),
	},
	{
		name: "CompleteJobWithoutSuccessCriteriaMet",
		when: either(completeChanged, successCriteriaMetChanged),
		state: conditions(func(v *view) bool { return v.complete && !v.successCriteriaMet },
			"cannot set Complete=True condition without the SuccessCriteriaMet=true condition"),
	},
	{name: "FinishedJobWithActivePods", when: either(finishedChanged, activeChanged), state: finishedJobWithActivePods},
	{name: "FinishedJobWithoutStartTime", when: either(finishedChanged, startTimeChanged),
		state: finishedJobWithoutStartTime},
	{
		name:  "FinishedJobWithUncountedTerminatedPods",
		when:  either(finishedChanged, uncountedChanged),
		state: finishedJobWithUncountedTerminatedPods,
	},
	{name: "InvalidCompletedIndexes", when: completedIndexesChanged, state: invalidCompletedIndexes},
	{name: "InvalidFailedIndexes", when: failedIndexesChanged, state: invalidFailedIndexes},
	{name: "CompletedIndexesForNonIndexedJob", when: completedIndexesChanged, state: completedIndexesForNonIndexedJob},
	{name: "FailedIndexesForNoBackoffLimitPerIndex", when: failedIndexesChanged,
		state: failedIndexesForNoBackoffLimitPerIndex},
	{
		name:  "FailedIndexesOverlappingCompleted",
		when:  either(failedIndexesChanged, completedIndexesChanged),
		state: failedIndexesOverlappingCompleted,
	},
	{name: "FinishedJobWithTerminatingPods", when: either(finishedChanged, terminatingChanged),
		state: finishedJobWithTerminatingPods},
	{name: "MoreReadyThanActivePods", when: either(readyChanged, activeChanged), state: moreReadyThanActivePods},
	{
		name: "SuccessCriteriaMetWithFailed",
		state: conditions(func(v *view) bool { return v.successCriteriaMet && v.failed },
			"cannot set SuccessCriteriaMet=True and Failed=true conditions"),
	},
	{
		name: "SuccessCriteriaMetWithFailureTarget",
		state: conditions(func(v *view) bool { return v.successCriteriaMet && v.failureTarget },
			"cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"),
	},
	{
		name: "CompleteWithoutSuccessCriteriaMetForSuccessPolicy",
		state: conditions(
			func(v *view) bool { return v.complete && !v.successCriteriaMet && v.spec.SuccessPolicy != nil },
			"cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"),
	},

	{name: "DisablingTerminalCondition", step: disablingTerminalCondition},
	{name: "DecreasingFailedCounter", step: decreasingFailedCounter},
	{name: "DecreasingSucceededCounter", when: func(c *change) bool { return !scalable(c) },
		step: decreasingSucceededCounter},
	{name: "MutatingCompletionTime", step: mutatingCompletionTime},
	{
		name: "StartTimeUpdateForUnsuspendedJob",
		when: func(c *change) bool { return startTimeChanged(c) && !resuming(c) },
		step: startTimeUpdateForUnsuspendedJob,
	},
	{
		name: "DisablingSuccessCriteriaMet",
		step: conditions(func(c *change) bool { return c.was.successCriteriaMet && !c.now.successCriteriaMet },
			"cannot disable the SuccessCriteriaMet=True condition"),
	},
	{
		name: "SuccessCriteriaMetAfterComplete",
		step: conditions(func(c *change) bool {
			return c.was.complete && !c.was.successCriteriaMet && c.now.successCriteriaMet
		}, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"),
	},
}
