package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// conditions makes a rule about conditions that exclude or require each other in a view, or that must
// not be added or removed in a change.
func conditions[T view | change](broken func(*T) bool, detail string) func(*T) field.ErrorList {
	return func(of *T) field.ErrorList {
		if !broken(of) {
			return nil
		}
		return field.ErrorList{noValue(statusPath.Child("conditions"), detail)}
	}
}

// invalid makes the one error of a rule about one field.
func invalid(name string, value any, detail string) field.ErrorList {
	return field.ErrorList{field.Invalid(statusPath.Child(name), value, detail)}
}

func negativeCount(v *view) field.ErrorList {
	errs := nonNegative(statusPath, "active", &v.Active)
	errs = append(errs, nonNegative(statusPath, "succeeded", &v.Succeeded)...)
	errs = append(errs, nonNegative(statusPath, "failed", &v.Failed)...)
	errs = append(errs, nonNegative(statusPath, "ready", v.Ready)...)
	return append(errs, nonNegative(statusPath, "terminating", v.Terminating)...)
}

// uncountedPods requires that each UID occurs once, in one of the two lists.
func uncountedPods(v *view) field.ErrorList {
	if v.UncountedTerminatedPods == nil {
		return nil
	}
	var errs field.ErrorList
	seen := map[types.UID]bool{}
	look := func(name string, uids []types.UID) {
		for i, uid := range uids {
			path := func() *field.Path { return statusPath.Child("uncountedTerminatedPods", name).Index(i) }
			switch {
			case uid == "":
				errs = append(errs, field.Invalid(path(), uid, "must not be empty"))
			case seen[uid]:
				errs = append(errs, field.Duplicate(path(), uid))
			}
			seen[uid] = true
		}
	}
	look("succeeded", v.UncountedTerminatedPods.Succeeded)
	look("failed", v.UncountedTerminatedPods.Failed)
	return errs
}

func notCompleteJobWithCompletionTime(v *view) field.ErrorList {
	if !set(v.CompletionTime) || v.complete {
		return nil
	}
	return invalid("completionTime", v.CompletionTime,
		"cannot set completionTime when there is no Complete=True condition")
}

func completeJobWithoutCompletionTime(v *view) field.ErrorList {
	if !v.complete || set(v.CompletionTime) {
		return nil
	}
	return field.ErrorList{field.Required(statusPath.Child("completionTime"),
		"completionTime is required for Complete jobs")}
}

func completionTimeBeforeStartTime(v *view) field.ErrorList {
	if !set(v.StartTime) || !set(v.CompletionTime) || !seconds(v.CompletionTime).Before(seconds(v.StartTime)) {
		return nil
	}
	return invalid("completionTime", v.CompletionTime, "must be equal to or after `startTime`")
}

func finishedJobWithActivePods(v *view) field.ErrorList {
	if !v.finished || v.Active <= 0 {
		return nil
	}
	return invalid("active", v.Active, "active>0 is invalid for finished job")
}

// finishedJobWithoutStartTime allows a suspended Job with 0 completions to finish without a
// start time.
func finishedJobWithoutStartTime(v *view) field.ErrorList {
	nothingToDo := v.spec.Completions != nil && *v.spec.Completions == 0
	if !v.finished || set(v.StartTime) || nothingToDo && deref(v.spec.Suspend, false) {
		return nil
	}
	return field.ErrorList{field.Required(statusPath.Child("startTime"), "startTime is required for finished job")}
}

func finishedJobWithUncountedTerminatedPods(v *view) field.ErrorList {
	uncounted := v.UncountedTerminatedPods
	if !v.finished || uncounted == nil || len(uncounted.Succeeded)+len(uncounted.Failed) == 0 {
		return nil
	}
	return invalid("uncountedTerminatedPods", uncounted, "must be empty for finished job")
}

func invalidCompletedIndexes(v *view) field.ErrorList {
	if v.spec.Completions == nil {
		return nil
	}
	if _, reason := countIndexes(v.CompletedIndexes, *v.spec.Completions); reason != "" {
		return invalid("completedIndexes", v.CompletedIndexes, "error parsing completedIndexes: "+reason)
	}
	return nil
}

func invalidFailedIndexes(v *view) field.ErrorList {
	if v.spec.Completions == nil || v.spec.BackoffLimitPerIndex == nil || v.FailedIndexes == nil {
		return nil
	}
	if _, reason := countIndexes(*v.FailedIndexes, *v.spec.Completions); reason != "" {
		return invalid("failedIndexes", v.FailedIndexes, "error parsing failedIndexes: "+reason)
	}
	return nil
}

func completedIndexesForNonIndexedJob(v *view) field.ErrorList {
	if v.CompletedIndexes == "" || indexed(v.spec) {
		return nil
	}
	return invalid("completedIndexes", v.CompletedIndexes,
		"cannot set non-empty completedIndexes when non-indexed completion mode")
}

func failedIndexesForNoBackoffLimitPerIndex(v *view) field.ErrorList {
	if v.FailedIndexes == nil || v.spec.BackoffLimitPerIndex != nil {
		return nil
	}
	return invalid("failedIndexes", *v.FailedIndexes,
		"cannot set non-null failedIndexes when backoffLimitPerIndex is null")
}

func failedIndexesOverlappingCompleted(v *view) field.ErrorList {
	if v.spec.Completions == nil || v.FailedIndexes == nil {
		return nil
	}
	index, found := overlap(v.CompletedIndexes, *v.FailedIndexes, *v.spec.Completions)
	if !found {
		return nil
	}
	return invalid("failedIndexes", *v.FailedIndexes,
		fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index))
}

func finishedJobWithTerminatingPods(v *view) field.ErrorList {
	if !v.finished || deref(v.Terminating, 0) <= 0 {
		return nil
	}
	return invalid("terminating", v.Terminating, "terminating>0 is invalid for finished job")
}

func moreReadyThanActivePods(v *view) field.ErrorList {
	if v.Ready == nil || *v.Ready <= v.Active {
		return nil
	}
	return invalid("ready", *v.Ready, "cannot set more ready pods than active")
}

func disablingTerminalCondition(c *change) field.ErrorList {
	var errs field.ErrorList
	for _, kind := range []struct {
		name     batchv1.JobConditionType
		was, now bool
	}{
		{batchv1.JobFailed, c.was.failed, c.now.failed},
		{batchv1.JobComplete, c.was.complete, c.now.complete},
		{batchv1.JobFailureTarget, c.was.failureTarget, c.now.failureTarget},
	} {
		if kind.was && !kind.now {
			errs = append(errs, noValue(statusPath.Child("conditions"),
				fmt.Sprintf("cannot disable the terminal %s=True condition", kind.name)))
		}
	}
	return errs
}

func decreasingFailedCounter(c *change) field.ErrorList {
	if c.now.Failed >= c.was.Failed {
		return nil
	}
	return invalid("failed", c.now.Failed, "cannot decrease the failed counter")
}

func decreasingSucceededCounter(c *change) field.ErrorList {
	if c.now.Succeeded >= c.was.Succeeded {
		return nil
	}
	return invalid("succeeded", c.now.Succeeded, "cannot decrease the succeeded counter")
}

// mutatingCompletionTime allows the time to be removed. CompleteJobWithoutCompletionTime
// forbids that for a complete Job.
func mutatingCompletionTime(c *change) field.ErrorList {
	if !set(c.now.CompletionTime) || !set(c.was.CompletionTime) || !completionTimeChanged(c) {
		return nil
	}
	return invalid("completionTime", c.now.CompletionTime, "field is immutable")
}

func startTimeUpdateForUnsuspendedJob(c *change) field.ErrorList {
	if !set(c.was.StartTime) || deref(c.now.spec.Suspend, false) {
		return nil
	}
	return invalid("startTime", c.now.StartTime, "field is immutable for unsuspended job once set")
}
