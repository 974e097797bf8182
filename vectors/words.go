package vectors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// Difference says in words how an outcome differs from that of the case: what happens, the first
// difference with its rule and the document that has it, the other fields that differ, and the input.
// It is empty if the outcome is the same.
func (c *Case) Difference(got *Outcome) string {
	s := &c.Snapshot
	in := situation{job: s.Job, pods: s.Pods, now: s.Now, failed: s.Backoff.Failures > 0}
	in.waiting = s.Pending.Status || s.Pending.Creations+s.Pending.Deletions+len(s.Pending.Stripped) > 0
	told := difference(fieldsOf(c.Jobfate), fieldsOf(got), in)
	if told == "" {
		return ""
	}
	told += "\n  " + jobWords(s.Job) + "\n  pods: " + podsWords(s.Pods, s.Now)
	if s.Backoff.Failures > 0 && s.Backoff.LastFailure != nil {
		last := ago(*s.Backoff.LastFailure, s.Now)
		told += fmt.Sprintf("\n  remembered: failures in a row: %d, the last %s", s.Backoff.Failures, last)
	}
	for _, more := range []struct {
		what string
		is   any
	}{{"not observed", s.Pending}, {"options", c.Options}, {"requests that fail", c.Faults}} {
		if text := textOf(more.is); text != "{}" {
			told += "\n  " + more.what + ": " + text
		}
	}
	if len(c.Divergences) > 0 {
		told += "\n  here jobfate differs from Kubernetes: docs/divergences.md § " + strings.Join(c.Divergences, ", ")
	}
	return told
}

// Difference says in words how the result of a function differs from that of the call, and by which
// rule. It is empty if the result is the same.
func (c *Call) Difference(got json.RawMessage) string {
	if bytes.Equal(got, c.Jobfate) {
		return ""
	}
	r := functionRules[c.Function]
	told := fmt.Sprintf("%s is %s, the vector says %s\n  rule: %s: %s\n  input: %s", c.Function, got, c.Jobfate,
		r.rule, r.source, c.In)
	if c.Oracle != "" {
		told += "\n  in Kubernetes: " + c.Oracle
	}
	return told
}

// difference says in words how two outcomes differ, and by which rule. It is empty if they do not.
func difference(want, got fields, in situation) string {
	differ := want.differ(got)
	if len(differ) == 0 {
		return ""
	}
	items := func(field string) []string {
		return slices.Concat(minus(got[field], want[field]), minus(want[field], got[field]))
	}
	in.more = want["left"] != nil || got["left"] != nil
	r, field := ruleFor(differ, items, in)
	told := sentence(field, r.verb, want[field], got[field]) + "\n  rule: " + r.rule + ": " + r.source
	if differ = slices.DeleteFunc(differ, func(name string) bool {
		return name == field ||
			name == whole
	}); len(differ) > 0 {
		told += "\n  these differ too: " + strings.Join(differ, ", ")
	}
	return told
}

// sentence says how the items of a field differ: "index 3 is created, the vector says it is not".
func sentence(field, verb string, want, got []string) string {
	more, less := minus(got, want), minus(want, got)
	switch {
	case field == whole:
		return "the rest of it differs"
	case verb == "":
		return fmt.Sprintf("%s is %s, the vector says %s", field, orNothing(got), orNothing(want))
	case len(more) > 0 && len(less) > 0:
		return fmt.Sprintf("%s %s, the vector says %s", list(more), numbered(verb, more), list(less))
	case len(more) > 0:
		return fmt.Sprintf("%s %s, the vector says %s", list(more), numbered(verb, more), denial(verb, more))
	case len(less) > 0:
		return fmt.Sprintf("the vector says that %s %s, %s", list(less), numbered(verb, less), denial(verb, less))
	}
	return fmt.Sprintf("the order is %s, the vector says %s", list(got), list(want))
}

// numbered returns a verb in the singular or plural: "is created", "lose their finalizer".
func numbered(verb string, items []string) string {
	if len(items) == 1 {
		return verb
	}
	return strings.NewReplacer("loses its", "lose their", "is ", "are ", "before its", "before their").Replace(verb)
}

// denial returns the end of a sentence that denies a verb.
func denial(verb string, items []string) string {
	it, is, does := "it", "is", "does"
	if len(items) > 1 {
		it, is, does = "they", "are", "do"
	}
	if strings.HasPrefix(verb, "is ") {
		return it + " " + is + " not"
	}
	return it + " " + does + " not"
}

func orNothing(items []string) string { return cmp.Or(list(items), "nothing") }

// list renders items, at most a few of them, each with its number if it occurs more than once.
func list(items []string) string {
	const most = 8
	var parts []string
	for i, item := range items {
		n := 0
		for _, other := range items {
			if other == item {
				n++
			}
		}
		switch {
		case slices.Index(items, item) != i:
		case n > 1:
			parts = append(parts, fmt.Sprintf("%s (%d times)", item, n))
		default:
			parts = append(parts, item)
		}
	}
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// minus returns the items of a list without those of another, each as often as it occurs.
func minus(all, without []string) (left []string) {
	without = slices.Clone(without)
	for _, item := range all {
		if i := slices.Index(without, item); i >= 0 {
			without = slices.Delete(without, i, i+1)
		} else {
			left = append(left, item)
		}
	}
	return left
}

// jobWords describes a Job.
func jobWords(job *batchv1.Job) string {
	if job == nil {
		return "no Job"
	}
	spec := &job.Spec
	parts := []string{"Job " + job.Name}
	add := func(holds bool, text string) {
		if holds {
			parts = append(parts, text)
		}
	}
	number := func(name string, n *int32) {
		if n != nil {
			parts = append(parts, fmt.Sprintf("%s %d", name, *n))
		}
	}
	add(lifecycle.IsIndexed(spec), "Indexed")
	number("completions", spec.Completions)
	number("parallelism", spec.Parallelism)
	number("backoffLimit", spec.BackoffLimit)
	number("backoffLimitPerIndex", spec.BackoffLimitPerIndex)
	number("maxFailedIndexes", spec.MaxFailedIndexes)
	if s := spec.ActiveDeadlineSeconds; s != nil {
		parts = append(parts, fmt.Sprintf("activeDeadlineSeconds %d", *s))
	}
	add(spec.PodFailurePolicy != nil, "a pod failure policy")
	add(spec.SuccessPolicy != nil, "a success policy")
	if p := spec.PodReplacementPolicy; p != nil {
		parts = append(parts, "replaces pods once they are "+string(*p))
	}
	add(spec.Suspend != nil && *spec.Suspend, "suspended")
	add(job.DeletionTimestamp != nil, "being deleted")
	for _, c := range job.Status.Conditions {
		add(c.Status == corev1.ConditionTrue, "with the condition "+string(c.Type))
	}
	add(job.Status.CompletedIndexes != "", "completed indexes "+job.Status.CompletedIndexes)
	if f := job.Status.FailedIndexes; f != nil {
		add(*f != "", "failed indexes "+*f)
	}
	return strings.Join(parts, ", ")
}

// podsWords describes pods.
func podsWords(pods []*corev1.Pod, now time.Time) string {
	const most = 8
	var parts []string
	for _, pod := range pods {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("%d more", len(pods)-most))
			break
		}
		parts = append(parts, podWords(pod, now))
	}
	return cmp.Or(strings.Join(parts, "; "), "none")
}

// podWords describes a pod: "pod a of index 3 failed with exit code 3, 4s ago, without the finalizer".
func podWords(pod *corev1.Pod, now time.Time) string {
	if pod == nil {
		return "no pod"
	}
	text := "pod " + pod.Name
	if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		text += " of index " + index
	}
	switch pod.Status.Phase {
	case corev1.PodFailed:
		text += " failed"
	case corev1.PodSucceeded:
		text += " succeeded"
	default:
		text += " is " + strings.ToLower(cmp.Or(string(pod.Status.Phase), "new"))
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if end := c.State.Terminated; end != nil && end.ExitCode != 0 {
			text += fmt.Sprintf(" with exit code %d", end.ExitCode)
			break
		}
	}
	if at := backoff.FinishTime(pod); pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		text += ", " + ago(at, now)
	}
	if pod.DeletionTimestamp != nil {
		text += ", being deleted"
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			text += ", disrupted"
		}
	}
	if n := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; n != "" && n != "0" {
		text += ", after " + n + " failures"
	}
	if !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		text += ", without the finalizer"
	}
	if len(pod.OwnerReferences) == 0 {
		text += ", without an owner"
	}
	return text
}

func ago(at, now time.Time) string {
	switch d := now.Sub(at); {
	case at.IsZero():
		return "at an unknown time"
	case d < 0:
		return (-d).String() + " from now"
	default:
		return d.String() + " ago"
	}
}
