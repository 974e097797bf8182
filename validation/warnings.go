package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Warnings returns the warnings of the API server for the creation of the Job, except
// those about its pod template. For an update that changes the spec the API server repeats
// them, except the one about the name.
func Warnings(job *batchv1.Job) []string {
	job = orEmpty(job)
	var warnings []string
	if msgs := validation.IsDNS1123Label(job.Name); len(msgs) > 0 {
		warnings = append(warnings, fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, "+
			"which can result in surprising behavior; a DNS label is recommended: %v", msgs))
	}
	spec := &job.Spec
	if indexed(spec) && deref(spec.Completions, 0) > HighCompletions &&
		deref(spec.Parallelism, 0) > HighCompletionsParallelism {
		warnings = append(warnings, "spec: In Indexed Jobs with a number of completions higher than 10^5 and "+
			"a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a "+
			"big number of indexes fail")
	}
	return warnings
}

// SafeIndexesSize is the size that KEP-3850 accepts for both lists of indexes, (5+1)*10^5
// bytes. By default etcd accepts no object above 1.5 MiB, and each status write contains
// both lists completely.
const SafeIndexesSize = 600_000

// Advice returns warnings that the API server does not give. One is about a template without
// labels: the built-in controller creates no pod of such a Job, unless it is Indexed. The others
// come from KEP-3850: completions above the limit up to which every index may be listed; a status
// that may grow too large to store; and backoffLimitPerIndex with a restart policy other than
// Never, which the KEP excludes and the API server accepts.
func Advice(job *batchv1.Job) []string {
	spec := &orEmpty(job).Spec
	if !indexed(spec) {
		const builtin = batchv1.JobControllerName
		if deref(spec.ManualSelector, false) && spec.Selector != nil && len(spec.Template.Labels) == 0 &&
			deref(spec.ManagedBy, builtin) == builtin {
			return []string{"spec.template.metadata.labels: the built-in controller creates no pod without labels"}
		}
		return nil
	}
	var advice []string
	if completions := deref(spec.Completions, 0); completions > HighCompletions {
		advice = append(advice, fmt.Sprintf("spec.completions: %d is above %d; the status stays small only "+
			"while few indexes are running or have failed", completions, HighCompletions))
	}
	if size := IndexesSize(spec); size.Both > SafeIndexesSize {
		advice = append(advice, fmt.Sprintf("status: completedIndexes and failedIndexes may take %d bytes "+
			"together, more than the %d that KEP-3850 accepts", size.Both, SafeIndexesSize))
	}
	if spec.BackoffLimitPerIndex != nil && spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		advice = append(advice, "spec.backoffLimitPerIndex: it counts failed pods, but restart policy "+
			"OnFailure restarts containers within a pod; use Never")
	}
	return advice
}

// StatusAdvice returns a warning if completedIndexes and failedIndexes together reach 4/5 of
// [SafeIndexesSize], the size that KEP-3850 accepts. [Advice] warns before the Job runs that
// they may become too large.
func StatusAdvice(status *batchv1.JobStatus) []string {
	if status == nil {
		return nil
	}
	size := len(status.CompletedIndexes) + len(deref(status.FailedIndexes, ""))
	if size < SafeIndexesSize/5*4 {
		return nil
	}
	return []string{fmt.Sprintf("status: completedIndexes and failedIndexes take %d bytes together, %d%% of "+
		"the %d that KEP-3850 accepts",
		size, int64(size)*100/SafeIndexesSize, SafeIndexesSize)}
}
