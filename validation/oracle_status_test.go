package validation

// The comments of the Kubernetes API on the fields of a JobStatus, one by one.

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
)

func isTrue(st *batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(st.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

// second returns a time as the API stores it, in whole seconds, and 0 for an absent time.
func second(t *metav1.Time) int64 {
	if t == nil || t.IsZero() {
		return 0
	}
	return t.Unix()
}

// brokenStatus returns the fields of a status that break a sentence.
func brokenStatus(spec *batchv1.JobSpec, st *batchv1.JobStatus) []string {
	wrong := map[string]bool{}
	breaks := func(field, _ string, is bool) {
		if is {
			wrong["status."+field] = true
		}
	}
	complete, failed := isTrue(st, "Complete"), isTrue(st, "Failed")
	target, criteria, finished := isTrue(st, "FailureTarget"), isTrue(st, "SuccessCriteriaMet"), complete || failed
	start, completion := second(st.StartTime), second(st.CompletionTime)
	ready, terminating := deref(st.Ready, 0), deref(st.Terminating, 0)

	for field, n := range map[string]int32{
		"active": st.Active, "succeeded": st.Succeeded, "failed": st.Failed, "ready": ready, "terminating": terminating,
	} {
		breaks(field, "counts are not negative", n < 0)
	}
	breaks("conditions", `A Job cannot have both the "Complete" and "Failed" conditions.`, complete && failed)
	breaks("conditions", `Additionally, it cannot be in the "Complete" and "FailureTarget" conditions.`, complete && target)
	breaks("conditions", "KEP-3998: SuccessCriteriaMet excludes Failed and FailureTarget", criteria && (failed || target))
	breaks("conditions", "each terminal condition follows its interim condition", complete && !criteria || failed && !target)
	breaks("completionTime", "The completion time is set when the job finishes successfully, and only then.", complete != (completion != 0))
	breaks("completionTime", "The value indicates the same or later point in time as the startTime field.", start != 0 && completion != 0 && completion < start)
	breaks("active", "The value is zero for finished jobs.", finished && st.Active > 0)
	breaks("terminating", "a finished Job has no terminating pods", finished && terminating > 0)
	nothingToDo := deref(spec.Completions, 1) == 0 && deref(spec.Suspend, false)
	breaks("startTime", "a finished Job has a start time", finished && start == 0 && !nothingToDo)
	breaks("ready", "ready pods are active", st.Ready != nil && ready > st.Active)
	if u := st.UncountedTerminatedPods; u != nil {
		breaks("uncountedTerminatedPods", "The structure is empty for finished jobs.", finished && len(u.Succeeded)+len(u.Failed) > 0)
		seen := map[types.UID]bool{"": true}
		for _, uid := range slices.Concat(u.Succeeded, u.Failed) {
			breaks("uncountedTerminatedPods", "uncountedTerminatedPods holds the UIDs of Pods", seen[uid])
			seen[uid] = true
		}
	}
	breaks("completedIndexes", `completedIndexes holds the completed indexes when .spec.completionMode = "Indexed"`,
		st.CompletedIndexes != "" && deref(spec.CompletionMode, "") != "Indexed")
	breaks("failedIndexes", "FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set.", st.FailedIndexes != nil && spec.BackoffLimitPerIndex == nil)
	if spec.Completions == nil {
		return slices.Sorted(maps.Keys(wrong))
	}
	done, err := indexset.ParseOrdered(st.CompletedIndexes, *spec.Completions)
	lost, errFailed := indexset.ParseOrdered(deref(st.FailedIndexes, ""), *spec.Completions)
	breaks("completedIndexes", "The numbers are listed in increasing order.", err != nil)
	breaks("failedIndexes", "The numbers are listed in increasing order.", spec.BackoffLimitPerIndex != nil && errFailed != nil)
	breaks("failedIndexes", "The set of failed indexes cannot overlap with the set of completed indexes.", done.IntersectionLen(lost) > 0)
	return slices.Sorted(maps.Keys(wrong))
}

// brokenChange returns the sentences about a change that an update breaks.
func brokenChange(spec *batchv1.JobSpec, now, was *batchv1.JobStatus) (broken []string) {
	breaks := func(sentence string, is bool) {
		if is {
			broken = append(broken, sentence)
		}
	}
	for _, kind := range []batchv1.JobConditionType{"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"} {
		breaks(`The "Complete", "Failed" and "FailureTarget" conditions cannot be disabled.`, isTrue(was, kind) && !isTrue(now, kind))
	}
	breaks("The value increases monotonically.", now.Failed < was.Failed)
	elastic := deref(spec.CompletionMode, "") == "Indexed" && samePointee(spec.Completions, spec.Parallelism)
	breaks("it may decrease in reaction to scale down of elastic indexed jobs.", now.Succeeded < was.Succeeded && !elastic)
	started, completed := second(was.StartTime), second(was.CompletionTime)
	breaks("The value cannot be updated", completed != 0 && second(now.CompletionTime) != 0 && second(now.CompletionTime) != completed)
	resumed := isTrue(was, "Suspended") && slices.ContainsFunc(now.Conditions, func(c batchv1.JobCondition) bool { return c.Type == "Suspended" && c.Status == "False" })
	breaks("The field cannot be modified while the job is unsuspended or finished.",
		started != 0 && second(now.StartTime) != started && !deref(spec.Suspend, false) && !resumed)
	return broken
}
