package validation

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Warnings returns what the API server answers as warnings to the creation of
// the Job, but for those about its pod template. At an update that changes the
// spec it repeats all but the one about the name.
func Warnings(job *batchv1.Job) []string {
	job = orEmpty(job)
	var warnings []string
	if msgs := validation.IsDNS1123Label(job.Name); len(msgs) > 0 {
		warnings = append(warnings, fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", msgs))
	}
	spec := &job.Spec
	if indexed(spec) && deref(spec.Completions, 0) > HighCompletions && deref(spec.Parallelism, 0) > HighCompletionsParallelism {
		warnings = append(warnings, "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail")
	}
	return warnings
}

// SafeIndexesSize is the room that KEP-3850 accepts for both lists of indexes,
// (5+1)*10^5 bytes. etcd takes no object above 1.5 MiB by default, and every
// write of the status carries both lists whole.
const SafeIndexesSize = 600_000

// Advice returns warnings that the API server does not give, all from KEP-3850:
// about completions above the limit up to which every index may be listed; about
// a status that may grow too big to store; and about backoffLimitPerIndex with a
// restart policy other than Never, which the KEP rules out and the API server
// lets pass.
func Advice(job *batchv1.Job) []string {
	spec := &orEmpty(job).Spec
	if !indexed(spec) {
		return nil
	}
	var advice []string
	if completions := deref(spec.Completions, 0); completions > HighCompletions {
		advice = append(advice, fmt.Sprintf("spec.completions: %d is above %d; the status stays small only while few indexes run and have failed", completions, HighCompletions))
	}
	if size := IndexesSize(spec); size.Both > SafeIndexesSize {
		advice = append(advice, fmt.Sprintf("status: completedIndexes and failedIndexes may take %d bytes together, more than the %d that KEP-3850 accepts", size.Both, SafeIndexesSize))
	}
	if spec.BackoffLimitPerIndex != nil && spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		advice = append(advice, "spec.backoffLimitPerIndex: it counts failed pods, not the restarts within a pod that the restart policy OnFailure makes; use Never")
	}
	return advice
}

// StatusAdvice returns a warning when completedIndexes and failedIndexes have come near
// the room that KEP-3850 accepts: 4/5 of [SafeIndexesSize]. [Advice] says before the Job
// runs that they may.
func StatusAdvice(status *batchv1.JobStatus) []string {
	if status == nil {
		return nil
	}
	size := len(status.CompletedIndexes) + len(deref(status.FailedIndexes, ""))
	if size < SafeIndexesSize/5*4 {
		return nil
	}
	return []string{fmt.Sprintf("status: completedIndexes and failedIndexes take %d bytes together, %d%% of the %d that KEP-3850 accepts",
		size, int64(size)*100/SafeIndexesSize, SafeIndexesSize)}
}
