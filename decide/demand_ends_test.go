package decide_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func sized(parallelism, completions, backoffLimit int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &parallelism, &completions, &backoffLimit
	}
}

func maxFailed(n int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.MaxFailedIndexes = &n }
}

func indexes(completed, failed string) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.CompletedIndexes, job.Status.FailedIndexes = completed, &failed }
}

// successOf adds a rule to the success policy: a count of 0 means all of the named indexes, and no
// name any index.
func successOf(count int32, named string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		rule := batchv1.SuccessPolicyRule{}
		if count > 0 {
			rule.SucceededCount = &count
		}
		if named != "" {
			rule.SucceededIndexes = &named
		}
		if job.Spec.SuccessPolicy == nil {
			job.Spec.SuccessPolicy = &batchv1.SuccessPolicy{}
		}
		job.Spec.SuccessPolicy.Rules = append(job.Spec.SuccessPolicy.Rules, rule)
	}
}

// indexedPods returns texts of pods, with the indexes from first to before end.
func indexedPods(format string, first, end int) (texts []string) {
	for index := first; index < end; index++ {
		texts = append(texts, fmt.Sprintf(format, index))
	}
	return texts
}

// TestDemandOf_ends: the bounds of Jobs of which some pods have ended, or that end in several ways.
func TestDemandOf_ends(t *testing.T) {
	byStatus, none := []string(nil), []string{}
	failIndex, failJob := rule(batchv1.PodFailurePolicyActionFailIndex), rule(batchv1.PodFailurePolicyActionFailJob)
	ignore, counts := rule(batchv1.PodFailurePolicyActionIgnore), rule(batchv1.PodFailurePolicyActionCount)
	for _, tc := range []struct {
		reason  string
		job     *batchv1.Job
		pods    []string
		atOnce  decide.Range
		inTotal decide.Range
	}{
		// A controller that has not observed the last ends is in the middle of its last sync.
		{"it counts the failed pod as active and creates the other two pods of the work queue",
			demandJob(sized(3, 1, 1), workQueue, failJob), []string{"Failed code=42"}, between(0, 2), between(0, 2)},
		{"it counts the failed pod as active, and that is all that the Job needs",
			demandJob(sized(2, 1, 0), counted(0, 0, 1)), byStatus, exactly(0), exactly(0)},
		{"it replaces the terminating pod", demandJob(sized(2, 2, 0), counted(0, 0, 1), terminating(1)), byStatus, between(1, 2), between(1, 2)},
		{"it does not replace the terminating pod before that has failed",
			demandJob(sized(2, 2, 0), counted(0, 0, 1), terminating(1), replaceFailed), byStatus, exactly(1), exactly(1)},
		{"it counts the succeeded pod as active, and replaces the terminating one",
			demandJob(sized(3, 1, 1), workQueue), []string{"Running deleted", "Succeeded"}, between(1, 3), between(1, 3)},
		{"without a retry it does not replace the terminating pod",
			demandJob(sized(3, 1, 0), workQueue), []string{"Running deleted", "Succeeded"}, between(1, 2), between(1, 2)},
		{"only terminating pods fail unobserved",
			demandJob(sized(3, 1, 0), workQueue, counted(1, 0, 0)), []string{"Running", "Succeeded"}, between(1, 2), between(1, 2)},
		{"it counts the completed index as active: one success is enough",
			demandJob(sized(1, 3, 3), indexed, successOf(1, ""), indexes("2", ""), counted(0, 1, 0)), byStatus, exactly(0), exactly(0)},
		{"the failed pod may have failed its index, and is not replaced then",
			demandJob(perIndex(0), sized(3, 1, 0), counted(0, 0, 1)), byStatus, between(0, 1), between(0, 1)},
		{"the failed pod has failed its index, and is not replaced",
			demandJob(perIndex(2), sized(2, 2, 0)), []string{"Failed index=1 failures=2"}, between(0, 1), between(0, 1)},
		{"the failed pod leaves its index a retry: it counts as active",
			demandJob(perIndex(2), sized(3, 2, 0)), []string{"Failed index=1 failures=0"}, between(0, 1), between(0, 1)},
		{"the failed index is one too many, and counts as active",
			demandJob(perIndex(0), sized(2, 4, 100), maxFailed(0), indexes("", "0"), counted(0, 0, 1)), byStatus, between(0, 1), between(0, 1)},
		{"the index of the failed pod is one too many, and counts as active",
			demandJob(perIndex(0), sized(3, 4, 100), maxFailed(0)), []string{"Failed index=0 failures=0"}, between(0, 2), between(0, 2)},
		{"the index that a FailIndex rule failed is one too many, and counts as active",
			demandJob(perIndex(5), sized(3, 4, 100), maxFailed(0), failIndex), []string{"Failed index=0 failures=0 code=42"}, between(0, 2), between(0, 2)},

		{"an ignored failure does not count towards the backoff limit", demandJob(sized(1, 1, 0), ignore), []string{"Failed code=42"},
			exactly(1), between(1, math.MaxInt64)},
		{"a failure in the uncounted lists counts once", demandJob(sized(1, 2, 3), func(j *batchv1.Job) {
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"pod-a"}}
		}), []string{"Failed"}, exactly(1), between(2, 4)},
		{"a failure in the uncounted lists counts besides those before", demandJob(counted(1, 8, 1), func(j *batchv1.Job) {
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"b"}}
		}), byStatus, between(1, 2), between(2, 3)},
		{"the pod that runs may meet the FailJob rule", demandJob(sized(1, 3, 3), failJob, counted(1, 0, 0)), byStatus, exactly(1), between(1, 6)},
		{"a terminating pod of another owner does not count", demandJob(sized(0, 1, 0)), []string{"Running deleted foreign"}, exactly(0), exactly(0)},
		{"pods beyond the parallelism are no surplus unless the Job was edited", demandJob(sized(1, 1, 1), workQueue, counted(2, 0, 0)), byStatus,
			exactly(2), exactly(2)},
		{"a success that is not recorded leaves no surplus", demandJob(sized(2, 2, 3), editedSpec), []string{"Running", "Succeeded"},
			exactly(1), between(1, 4)},
		{"a surplus pod is deleted, and its index gets another one", demandJob(perIndex(0), sized(1, 3, 100), editedSpec),
			[]string{"Running index=0", "Running index=1"}, exactly(2), between(3, 4)},

		{"an index beyond the completions has no failures", demandJob(indexed, sized(1, 1, 2)), []string{"Failed index=1"}, exactly(1), between(1, 3)},
		{"an index beyond the completions is no failed index", demandJob(perIndex(0), sized(1, 2, 100), maxFailed(0)),
			[]string{"Failed index=2"}, exactly(1), between(1, 2)},
		{"an index that has completed has not failed", demandJob(perIndex(1), sized(3, 4, 100), maxFailed(0), indexes("2", ""), counted(0, 1, 0)),
			[]string{"Failed index=2 failures=2"}, between(1, 3), between(2, 6)},
		{"without a limit per index there are no failed indexes", demandJob(indexed, sized(1, 1, 0), indexes("", "0")), byStatus, exactly(1), exactly(1)},
		{"without a limit per index maxFailedIndexes says nothing", demandJob(indexed, sized(3, 2, 3), maxFailed(0)), byStatus,
			between(1, 2), between(2, 5)},
		{"the completions of an Indexed Job default to 1 too", demandJob(perIndex(1), withoutNumbers), byStatus, exactly(1), between(1, 2)},
		{"of two pods of an index the one with more failures leaves fewer retries", demandJob(perIndex(2), sized(2, 3, 100), counted(1, 0, 0)),
			[]string{"Running index=2 failures=2 deleted", "Running index=2 failures=1 deleted"}, between(2, 4), between(4, 8)},
		{"the same in another order", demandJob(perIndex(2), sized(2, 3, 100), counted(1, 0, 0)),
			[]string{"Running index=2 failures=1 deleted", "Running index=2 failures=2 deleted"}, between(2, 4), between(4, 8)},

		// With maxFailedIndexes a Job may end by failures.
		{"a FailIndex rule fails the index of the pod that runs", demandJob(perIndex(1), sized(3, 2, 2), maxFailed(0), failIndex, counted(1, 0, 0)),
			byStatus, between(1, 2), between(1, 4)},
		{"one failure is behind: an index fails with two more", demandJob(perIndex(2), sized(1, 4, 100), maxFailed(0), counted(0, 0, 1)), byStatus,
			exactly(1), between(2, 12)},
		{"three indexes fail with nine pods, and four succeed with four", demandJob(perIndex(2), sized(3, 4, 100), maxFailed(2)), byStatus,
			between(1, 3), between(4, 12)},
		{"an index fails with two pods", demandJob(perIndex(1), sized(3, 4, 100), maxFailed(0)), none, between(1, 3), between(2, 8)},
		{"without a FailIndex rule an index fails with two pods", demandJob(perIndex(1), sized(1, 3, 100), maxFailed(0), counts), byStatus,
			exactly(1), between(2, 6)},
		{"one index has failed, and one more is too many", demandJob(perIndex(0), sized(1, 4, 100), maxFailed(1), indexes("", "0"), counted(0, 0, 1)),
			byStatus, exactly(1), between(1, 3)},
		{"four indexes fail with the pods that run", demandJob(perIndex(1), sized(8, 8, 100), maxFailed(3)), slices.Concat(
			indexedPods("Failed index=%d failures=0", 0, 4), indexedPods("Running index=%d failures=1", 4, 8)), between(4, 8), between(4, 8)},
		{"two more take a pod each", demandJob(perIndex(1), sized(8, 8, 100), maxFailed(5)), slices.Concat(
			indexedPods("Failed index=%d failures=0", 0, 4), indexedPods("Running index=%d failures=1", 4, 8)), between(4, 8), between(6, 8)},

		// With a success policy a Job may end before its indexes do.
		{"one success or one failed index is the end: not all indexes have two pods",
			demandJob(perIndex(1), sized(2, 3, 100), maxFailed(0), successOf(1, "")), byStatus, between(1, 2), between(1, 5)},
		{"an index that fails does not bring the success nearer", demandJob(perIndex(0), sized(1, 3, 100), maxFailed(2), successOf(2, "")), none,
			exactly(1), between(2, 3)},
		{"of two indexes that may fail one has", demandJob(perIndex(2), sized(1, 4, 100), maxFailed(2), successOf(1, ""), indexes("", "2"), counted(0, 0, 1)),
			byStatus, exactly(1), between(1, 8)},
		{"a rule with a failed index is not satisfied any more",
			demandJob(perIndex(1), sized(2, 4, 100), successOf(0, "0-1"), successOf(0, "1-2"), indexes("", "1"), counted(0, 0, 1)), none,
			between(1, 2), between(3, 6)},
		{"of two successes one is there", demandJob(indexed, sized(1, 5, 3), successOf(2, ""), indexes("0", ""), counted(0, 1, 0)), byStatus,
			exactly(1), between(1, 4)},
		{"all named indexes must succeed", demandJob(indexed, sized(1, 4, 3), successOf(0, "0-1")), byStatus, exactly(1), between(2, 7)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var got decide.Demand
			if tc.pods == nil {
				got = decide.DemandOf(tc.job)
			} else {
				got = byPods(tc.job, demandPods(tc.job, tc.pods...))
			}
			Same(t, "demand", got, decide.Demand{AtOnce: tc.atOnce, InTotal: tc.inTotal, Unbounded: tc.inTotal.Most == math.MaxInt64})
		})
	}
}

// The pods of a custom resource may have a finalizer of its own.
func TestDemandWithPods_keys(t *testing.T) {
	job := demandJob(sized(1, 1, 0))
	pods := demandPods(job, "Failed")
	pods[0].Finalizers = []string{"example.com/tracking"}
	Same(t, "in total, with the keys", decide.DemandWithPods(job, pods, tracking.Keys{Finalizer: "example.com/tracking"}).InTotal, decide.Range{})
	Same(t, "in total, without", byPods(job, pods).InTotal, decide.Range{Least: 1, Most: 1})
}
