package explain

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// mishap is a way in which a pod failed that makes a Job fail, or whose replacement waits.
type mishap struct {
	means  string // completes "the Job has failed, and …"
	advice string
	is     func(*reading, *found) bool
}

// mishaps lists the ways in the order of their rank.
var mishaps = []mishap{
	{"a container was out of memory", "Raise MEMORY, or make it use less. " + logAdvice,
		func(_ *reading, c *found) bool { return c.signs.exited != nil && c.signs.exited.Reason == "OOMKilled" }},
	{"the kubelet evicted the pod",
		"Raise the request or the limit of the resource that the message names, or use less of it.",
		func(_ *reading, c *found) bool { return c.signs.evicted }},
	{"the kubelet ended the pod at the pod's own deadline",
		"Raise activeDeadlineSeconds of the pod template, or see what took long: kubectl logs -n NAMESPACE POD.",
		func(_ *reading, c *found) bool { return c.signs.late }},
	{"the pod was disrupted, and a rule that ignores this comes late",
		"A later rule of spec.podFailurePolicy ignores DisruptionTarget, but the first rule that matches a pod " +
			"decides: put that rule first.",
		func(_ *reading, c *found) bool { return c.signs.disrupted && c.signs.hidden }},
	{"the pod was disrupted",
		"With a rule of spec.podFailurePolicy that ignores DisruptionTarget, this is no failure.",
		func(_ *reading, c *found) bool { return c.signs.disrupted }},
	{"a container could not be started",
		"Check the command, the security context and the mounts of container CONTAINER: it has not run, so it has " +
			"no log.",
		func(_ *reading, c *found) bool { return notStarted(c.signs.exited) }},
	{"it reached its deadline",
		"Raise spec.activeDeadlineSeconds, or see what took long: " + describeJob,
		func(r *reading, _ *found) bool { return r.failureReason() == batchv1.JobReasonDeadlineExceeded }},
	{"a container says how", logAdvice, func(_ *reading, c *found) bool { return c.container != "" }},
	{"the kubelet has rejected the pod",
		"The pod has not run, so it has no log. Fix what the message names, or look at node NODE.",
		func(_ *reading, c *found) bool { return c.signs.rejected }},
	{"the pod was deleted while it ran",
		"Find out who deletes pods: a user, or a drain of node NODE. A pod that is deleted while it runs counts as " +
			"failed.",
		func(_ *reading, c *found) bool { return c.signs.deleted }},
	{"no container says how", "Read the events: " + describeJob,
		func(*reading, *found) bool { return true }},
}

const (
	logAdvice   = "Read its log: kubectl logs -n NAMESPACE POD -c CONTAINER."
	describeJob = "kubectl describe job -n NAMESPACE JOB."
)

// failedRows returns a row for each mishap of a Job that has failed.
func failedRows() (rows []row) {
	for _, m := range mishaps {
		rows = append(rows, row{code: CauseFailed, attention: AttentionLost, group: groupEnd,
			means: "the Job has failed, and " + m.means, advice: m.advice + " RERUN", job: func(r *reading) found {
				if c := failed(r); c.text != "" && m.is(r, &c) {
					return c
				}
				return found{}
			}})
	}
	return rows
}

// adviceOn returns the advice on the way in which a pod failed.
func (r *reading) adviceOn(c *found) string {
	return mishaps[slices.IndexFunc(mishaps, func(m mishap) bool { return m.is(r, c) })].advice
}
