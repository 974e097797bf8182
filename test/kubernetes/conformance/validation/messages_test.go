package validation_test

import (
	"strings"

	"github.com/jobfate/jobfate/test/kubernetes/conformance/kubernetes"
)

// The messages of the API server's rules for Jobs, one per line. Each is truncated after the part that
// distinguishes it from the others. N stands for a number, and … for a quoted text. A test fails if
// its objects never cause one of these messages.

var specMessages = append(messagesFrom38(), list(`
	FieldValueInvalid metadata.name: will not able to create pod with invalid DNS
	FieldValueInvalid metadata.finalizers[N]: name is neither
	FieldValueInvalid spec.parallelism: must be greater than or equal to N
	FieldValueInvalid spec.completions: must be greater than or equal to N
	FieldValueInvalid spec.activeDeadlineSeconds: must be greater than or equal to N
	FieldValueInvalid spec.backoffLimit: must be greater than or equal to N
	FieldValueInvalid spec.ttlSecondsAfterFinished: must be greater than or equal to N
	FieldValueInvalid spec.backoffLimitPerIndex: must be greater than or equal to N
	FieldValueInvalid spec.maxFailedIndexes: must be greater than or equal to N
	FieldValueRequired spec.backoffLimitPerIndex:
	FieldValueRequired spec.managedBy:
	FieldValueInvalid spec.managedBy: must be a domain-prefixed path
	FieldValueInvalid spec.managedBy: a lowercase RFC N subdomain
	FieldValueInvalid spec.managedBy: must be no more than N characters
	FieldValueInvalid spec.managedBy: Invalid path
	FieldValueTooLong spec.managedBy: may not be more than N bytes
	FieldValueNotSupported spec.completionMode: supported values: …, …
	FieldValueRequired spec.completions: when completion mode is Indexed
	FieldValueInvalid spec.parallelism: must be less than or equal to N when completion mode is Indexed
	FieldValueInvalid spec.maxFailedIndexes: must be less than or equal to completions
	FieldValueInvalid spec.maxFailedIndexes: must be less than or equal to N
	FieldValueRequired spec.maxFailedIndexes: must be specified when completions is above N
	FieldValueInvalid spec.parallelism: must be less than or equal to N when completions are above N
	FieldValueInvalid spec.maxFailedIndexes: must be less than or equal to N when completions are above N
	FieldValueInvalid spec.backoffLimitPerIndex: requires indexed completion mode
	FieldValueInvalid spec.maxFailedIndexes: requires indexed completion mode
	FieldValueTooMany spec.podFailurePolicy.rules: must have at most N items
	FieldValueRequired spec.podFailurePolicy.rules[N].action: valid values
	FieldValueInvalid spec.podFailurePolicy.rules[N].action: requires the backoffLimitPerIndex
	FieldValueNotSupported spec.podFailurePolicy.rules[N].action: supported values: …, …, …, …
	FieldValueInvalid spec.podFailurePolicy.rules[N]: specifying both
	FieldValueInvalid spec.podFailurePolicy.rules[N]: specifying one of
	FieldValueRequired spec.podFailurePolicy.rules[N].onExitCodes.operator: valid values
	FieldValueNotSupported spec.podFailurePolicy.rules[N].onExitCodes.operator: supported values: …, …
	FieldValueInvalid spec.podFailurePolicy.rules[N].onExitCodes.containerName: must be one of
	FieldValueInvalid spec.podFailurePolicy.rules[N].onExitCodes.values: at least one
	FieldValueTooMany spec.podFailurePolicy.rules[N].onExitCodes.values: must have at most N items
	FieldValueInvalid spec.podFailurePolicy.rules[N].onExitCodes.values[N]: must not be N for the In operator
	FieldValueDuplicate spec.podFailurePolicy.rules[N].onExitCodes.values[N]:
	FieldValueInvalid spec.podFailurePolicy.rules[N].onExitCodes.values: must be ordered
	FieldValueTooMany spec.podFailurePolicy.rules[N].onPodConditions: must have at most N items
	FieldValueInvalid spec.podFailurePolicy.rules[N].onPodConditions[N].type: name part must be non-empty
	FieldValueInvalid spec.podFailurePolicy.rules[N].onPodConditions[N].type: name part must be no more than N bytes
	FieldValueInvalid spec.podFailurePolicy.rules[N].onPodConditions[N].type: name part must consist
	FieldValueInvalid spec.podFailurePolicy.rules[N].onPodConditions[N].type: prefix part must be
	FieldValueInvalid spec.podFailurePolicy.rules[N].onPodConditions[N].type: a valid label key must
	FieldValueNotSupported spec.podFailurePolicy.rules[N].onPodConditions[N].status: supported values: …, …, …
	FieldValueRequired spec.podFailurePolicy.rules[N].onPodConditions[N].status: valid values
	FieldValueInvalid spec.successPolicy: requires indexed completion mode
	FieldValueRequired spec.successPolicy.rules: at least one
	FieldValueTooMany spec.successPolicy.rules: must have at most N items
	FieldValueRequired spec.successPolicy.rules[N]: at least one of
	FieldValueTooLong spec.successPolicy.rules[N].succeededIndexes: may not be more than N bytes
	FieldValueInvalid spec.successPolicy.rules[N].succeededIndexes: error parsing succeededIndexes: cannot convert
	FieldValueInvalid spec.successPolicy.rules[N].succeededIndexes: error parsing succeededIndexes: too large
	FieldValueInvalid spec.successPolicy.rules[N].succeededIndexes: error parsing succeededIndexes: non-increasing
	FieldValueInvalid spec.successPolicy.rules[N].succeededIndexes: error parsing succeededIndexes: the fragment
	FieldValueInvalid spec.successPolicy.rules[N].succeededCount: must be greater than or equal to N
	FieldValueInvalid spec.successPolicy.rules[N].succeededCount: must be less than or equal to N (the number of specified completions)
	FieldValueInvalid spec.successPolicy.rules[N].succeededCount: must be less than or equal to N (the number of indexes
	FieldValueNotSupported spec.podReplacementPolicy: supported values: …
	FieldValueNotSupported spec.podReplacementPolicy: supported values: …, …
	FieldValueRequired spec.template.spec.restartPolicy: valid values: …, …
	FieldValueNotSupported spec.template.spec.restartPolicy: supported values: …, …
	FieldValueInvalid spec.template.spec.restartPolicy: only … is supported
	FieldValueRequired spec.selector:
	FieldValueInvalid spec.selector.matchLabels:
	FieldValueInvalid spec.selector.matchExpressions[N].operator: not a valid selector operator
	FieldValueRequired spec.selector.matchExpressions[N].values:
	FieldValueForbidden spec.selector.matchExpressions[N].values:
	FieldValueInvalid spec.selector.matchExpressions[N].values[N]: must be no more than N bytes
	FieldValueInvalid spec.template.metadata.labels: ¤selector¤ does not match
	accepted
	panics
`)...)

// messagesFrom38 returns the messages of rules that 1.38 has added.
func messagesFrom38() []string {
	if kubernetes.Minor() < 38 {
		return nil
	}
	return list(`
		FieldValueRequired metadata.annotations[scheduling.kNs.io/workload-name]: must be set
		FieldValueRequired metadata.annotations[scheduling.kNs.io/group-template-name]: must be set
	`)
}

// generatedMessages are about what the API server generates for a new Job. Until 1.36 it also checks
// that in updates.
var generatedMessages = list(`
	FieldValueRequired metadata.uid:
	FieldValueInvalid spec.selector: ¤selector¤ not auto-generated
	FieldValueInvalid spec.template.metadata.labels[controller-uid]: must be …
	FieldValueInvalid spec.template.metadata.labels[batch.kubernetes.io/job-name]: must be …
`)

// missingMessages occur only for Jobs that PrepareForCreate has not processed.
var missingMessages = list(`
	FieldValueRequired spec.template.metadata.labels[controller-uid]: must be …
	FieldValueRequired spec.template.metadata.labels[job-name]: must be …
	FieldValueRequired spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: must be …
	FieldValueRequired spec.template.metadata.labels[batch.kubernetes.io/job-name]: must be …
`)

var updateMessages = append(list(`
	FieldValueInvalid metadata.resourceVersion:
	FieldValueInvalid metadata.name: field is immutable
	FieldValueInvalid spec.completions: field is immutable
	FieldValueInvalid spec.completions: can only be modified in tandem with spec.parallelism
	FieldValueInvalid spec.selector: field is immutable
	FieldValueInvalid spec.template: field is immutable
	FieldValueInvalid spec.template.spec: field is immutable
	FieldValueInvalid spec.completionMode: field is immutable
	FieldValueInvalid spec.podFailurePolicy: field is immutable
	FieldValueInvalid spec.backoffLimitPerIndex: field is immutable
	FieldValueInvalid spec.managedBy: field is immutable
	FieldValueInvalid spec.successPolicy: field is immutable
	template changed
	invalid selector kept
`), specMessages...)

var statusMessages = list(`
	FieldValueInvalid status.active: must be greater than or equal to N
	FieldValueInvalid status.succeeded: must be greater than or equal to N
	FieldValueInvalid status.failed: must be greater than or equal to N
	FieldValueInvalid status.ready: must be greater than or equal to N
	FieldValueInvalid status.terminating: must be greater than or equal to N
	FieldValueInvalid status.uncountedTerminatedPods.succeeded[N]: must not be empty
	FieldValueInvalid status.uncountedTerminatedPods.failed[N]: must not be empty
	FieldValueDuplicate status.uncountedTerminatedPods.succeeded[N]:
	FieldValueDuplicate status.uncountedTerminatedPods.failed[N]:
	FieldValueInvalid status.conditions: cannot set Complete=True and Failed=true conditions
	FieldValueInvalid status.conditions: cannot set Complete=True and FailureTarget=true conditions
	FieldValueInvalid status.completionTime: cannot set completionTime when there is no Complete=True condition
	FieldValueRequired status.completionTime: completionTime is required for Complete jobs
	FieldValueInvalid status.completionTime: must be equal to or after
	FieldValueInvalid status.conditions: cannot set Failed=True condition without the FailureTarget=true condition
	FieldValueInvalid status.conditions: cannot set Complete=True condition without the SuccessCriteriaMet=true condition
	FieldValueInvalid status.active: active>N is invalid for finished job
	FieldValueRequired status.startTime: startTime is required for finished job
	FieldValueInvalid status.uncountedTerminatedPods: must be empty for finished job
	FieldValueInvalid status.completedIndexes: error parsing completedIndexes: cannot convert
	FieldValueInvalid status.completedIndexes: error parsing completedIndexes: too large
	FieldValueInvalid status.completedIndexes: error parsing completedIndexes: non-increasing
	FieldValueInvalid status.completedIndexes: error parsing completedIndexes: the fragment
	FieldValueInvalid status.failedIndexes: error parsing failedIndexes:
	FieldValueInvalid status.completedIndexes: cannot set non-empty completedIndexes when non-indexed
	FieldValueInvalid status.failedIndexes: cannot set non-null failedIndexes when backoffLimitPerIndex is null
	FieldValueInvalid status.failedIndexes: failedIndexes and completedIndexes overlap at index: N
	FieldValueInvalid status.terminating: terminating>N is invalid for finished job
	FieldValueInvalid status.ready: cannot set more ready pods than active
	FieldValueInvalid status.conditions: cannot set SuccessCriteriaMet=True and Failed=true conditions
	FieldValueInvalid status.conditions: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions
	FieldValueInvalid status.conditions: cannot set Complete=True for Job with SuccessPolicy unless
	accepted
`)

var stepMessages = list(`
	FieldValueInvalid status.conditions: cannot disable the terminal Failed=True condition
	FieldValueInvalid status.conditions: cannot disable the terminal Complete=True condition
	FieldValueInvalid status.conditions: cannot disable the terminal FailureTarget=True condition
	FieldValueInvalid status.failed: cannot decrease the failed counter
	FieldValueInvalid status.succeeded: cannot decrease the succeeded counter
	FieldValueInvalid status.completionTime: field is immutable
	FieldValueInvalid status.startTime: field is immutable for unsuspended job once set
	FieldValueInvalid status.conditions: cannot disable the SuccessCriteriaMet=True condition
	FieldValueInvalid status.conditions: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions
`)

func list(text string) []string {
	text = strings.ReplaceAll(text, "¤", "`")
	var messages []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		messages = append(messages, strings.TrimSpace(line))
	}
	return messages
}
