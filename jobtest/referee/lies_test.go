package referee_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The names of conditions, short.
const (
	criteriaMet, complete  = batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
	target, hasFailed      = batchv1.JobFailureTarget, batchv1.JobFailed
	limitExceeded, matched = batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonPodFailurePolicy
)

// The specs of the Jobs.
var (
	plain      specs
	indexed3   = specs{func(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.IndexedCompletion) }}
	perIndex   = append(indexed3[:1:1], func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(1)) })
	maxOne     = append(perIndex[:2:2], func(s *batchv1.JobSpec) { s.MaxFailedIndexes = new(int32(1)) })
	limit1     = specs{func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1)) }}
	deadline   = specs{func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = new(int64(10)) }}
	failJob    = specs{func(s *batchv1.JobSpec) { s.PodFailurePolicy = failOn1 }}
	atATime    = func(n int32) specs { return specs{func(s *batchv1.JobSpec) { s.Parallelism = &n }} }
	queue      = specs{func(s *batchv1.JobSpec) { s.Completions = nil }}
	ignoring   = specs{func(s *batchv1.JobSpec) { s.PodFailurePolicy = ignoreDisruptions }}
	twoSuffice = append(indexed3[:1:1], func(s *batchv1.JobSpec) {
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(2))}}}
	})
	restarting = append(limit1[:1:1], func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
)

func suspend(s *batchv1.JobSpec) { s.Suspend = new(true) }

// unobserved is a status that another client stores and the caches lack.
func unobserved(k *scene, changes ...statuses) {
	k.lag()
	k.status(changes...)
}

// many are names of pods.
func many(n int) (pods []types.UID) {
	for i := range n {
		pods = append(pods, types.UID(fmt.Sprint("pod-", i)))
	}
	return pods
}

// lies has, for each clause of each property, the smallest sequence of writes that violates it, and beside it
// one that is as it should be. given comes before both. The properties L1 to L5 are those of package chaos, C1 to C4
// those of package jobtest/kube/chaos, and S16 is a test of package decisions.
var lies = []struct {
	property, clause  string
	spec              specs
	given, lie, truth func(k *scene)
}{
	{"S1", "a pod is counted again", plain,
		func(k *scene) {
			k.pod("a", failed)
			k.pod("b", failed)
			k.stores(uncounted("a"))
			k.strips("a")
			k.stores(failures(1), uncounted())
		},
		func(k *scene) { k.stores(uncounted("a")) }, func(k *scene) { k.stores(uncounted("b")) }},
	{"S1", "a pod that was counted as succeeded is counted as failed", plain,
		func(k *scene) {
			k.pod("a", succeeded)
			k.pod("b", failed)
			k.stores(uncounted("/", "a"))
			k.strips("a")
			k.stores(successes(1), uncounted())
			k.becomes("a", failed)
		},
		func(k *scene) { k.stores(uncounted("a")) }, func(k *scene) { k.stores(uncounted("b")) }},
	{"S1", "a pod is counted as failed and succeeded at once", plain,
		func(k *scene) { k.pod("a", failed); k.pod("b", succeeded) },
		func(k *scene) { k.stores(uncounted("a", "/", "a")) }, func(k *scene) { k.stores(uncounted("a", "/", "b")) }},
	{"S1", "a pod is listed twice", plain,
		func(k *scene) { k.pod("a", failed); k.stores(uncounted("a")) },
		func(k *scene) { k.stores(uncounted("a", "a")) }, func(k *scene) { k.stores(uncounted("a")) }},
	{"S1", "a pod of another Job is counted", plain, nil,
		func(k *scene) { k.pod("a", failed, ownedBy("Job", "other")); k.stores(uncounted("a")) },
		func(k *scene) { k.pod("a", failed, orphaned); k.stores(uncounted("a")) }},
	{"S1", "a pod is counted that was not observed", plain, nil,
		func(k *scene) { k.lag(); k.pod("a", failed); k.stores(uncounted("a")) },
		func(k *scene) { k.pod("a", failed); k.stores(uncounted("a")) }},
	{"S1", "failed grows without a pod", plain, func(k *scene) { k.pod("a", failed) },
		func(k *scene) { k.stores(failures(1)) }, func(k *scene) { k.stores(uncounted("a")) }},
	{"S1", "succeeded grows without a pod", plain, func(k *scene) { k.pod("a", succeeded) },
		func(k *scene) { k.stores(successes(1)) }, func(k *scene) { k.stores(uncounted("/", "a")) }},
	{"S1", "a failure leaves the list and is not added", plain,
		func(k *scene) { k.pod("a", failed); k.stores(uncounted("a")); k.strips("a") },
		func(k *scene) { k.stores(uncounted()) }, func(k *scene) { k.stores(uncounted(), failures(1)) }},
	{"S1", "a pod leaves the list with its finalizer", plain,
		func(k *scene) { k.pod("a", failed); k.stores(uncounted("a")) },
		func(k *scene) { k.stores(uncounted(), failures(1)) }, func(k *scene) { k.strips("a"); k.stores(uncounted(), failures(1)) }},
	{"S1", "a running pod is counted as failed", plain, func(k *scene) { k.pod("a"); k.pod("b", leaving) },
		func(k *scene) { k.stores(uncounted("a")) }, func(k *scene) { k.stores(uncounted("b")) }},
	{"S1", "a running pod is counted as failed, but the Job goes on", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.stores(uncounted("a")) },
		func(k *scene) { k.status(is(target, "")); k.stores(uncounted("a")) }},
	{"S1", "a succeeded pod is counted as failed", plain, func(k *scene) { k.pod("a", succeeded) },
		func(k *scene) { k.stores(uncounted("a")) }, func(k *scene) { k.stores(uncounted("/", "a")) }},
	{"S1", "a failed pod is counted as succeeded", plain, func(k *scene) { k.pod("a", failed) },
		func(k *scene) { k.stores(uncounted("/", "a")) }, func(k *scene) { k.stores(uncounted("a")) }},
	{"S1", "succeeded is not the size of completedIndexes", indexed3, func(k *scene) { k.pod("a", succeeded, at(0)) },
		func(k *scene) { k.stores(uncounted("/", "a"), completed("0"), successes(2)) },
		func(k *scene) { k.stores(uncounted("/", "a"), completed("0"), successes(1)) }},

	{"S2", "the finalizer of a pod is removed that no status records", plain, func(k *scene) { k.pod("a", failed) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.stores(uncounted("a")); k.strips("a") }},
	{"S2", "the same of a running pod that is not deleted next", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.stripsFirst("a") }},
	{"S2", "the same of a pod that has ended", plain, func(k *scene) { k.pod("a", failed); k.pod("b") },
		func(k *scene) { k.stripsFirst("a") }, func(k *scene) { k.stripsFirst("b") }},
	{"S2", "the same of a failed pod of a Job that succeeds", plain,
		func(k *scene) { k.pod("a", failed); k.pod("b", succeeded); k.status(is(criteriaMet, "")) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S2", "the same of a pod that no rule ignores", ignoring, func(k *scene) { k.pod("a", failed); k.pod("b", failed, disrupted) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S2", "the same of a running pod that no rule ignores", ignoring, func(k *scene) { k.pod("b", disrupted) },
		func(k *scene) { k.strips("b") }, func(k *scene) { k.status(is(target, "")); k.strips("b") }},
	{"S2", "the same of a pod of the last index", indexed3, func(k *scene) { k.pod("a", failed, at(2)); k.pod("b", failed, at(3)) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S2", "the same, and the completions were lowered unobserved", indexed3,
		func(k *scene) {
			k.pod("a", failed, at(1))
			k.pod("b", failed, at(2))
			k.lag()
			k.spec(func(s *batchv1.JobSpec) { *s.Completions = 2 })
		},
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S2", "the same of a pod whose index has not completed", indexed3,
		func(k *scene) {
			k.pod("a", succeeded, at(0))
			k.pod("b", succeeded, at(1))
			k.status(completed("1"), successes(1))
		},
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S2", "the same of a Job that is only to fail", plain, func(k *scene) { k.pod("a", failed); k.status(is(target, "")) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.status(is(hasFailed, "")); k.strips("a") }},
	{"S2", "the same of a Job that stays", plain, func(k *scene) { k.pod("a", failed) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.deleteJob(); k.strips("a") }},
	{"S2", "the same of a pod that stays with the Job", plain, func(k *scene) { k.pod("a", failed); k.pod("b", failed, unselected) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},

	{"S3", "failed falls", plain, func(k *scene) { k.status(failures(2)) },
		func(k *scene) { k.stores(failures(1)) }, func(k *scene) { k.stores() }},
	{"S3", "succeeded falls", plain, func(k *scene) { k.status(successes(2)) },
		func(k *scene) { k.stores(successes(1)) }, func(k *scene) { k.stores() }},
	{"S3", "succeeded falls without scaling down", indexed3, func(k *scene) { k.status(successes(2), completed("0,2")) },
		func(k *scene) {
			k.spec(func(s *batchv1.JobSpec) { *s.Completions = 2 })
			k.stores(successes(1), completed("0"))
		},
		func(k *scene) {
			k.spec(func(s *batchv1.JobSpec) { *s.Completions, *s.Parallelism = 2, 2 })
			k.stores(successes(1), completed("0"))
		}},
	{"S3", "completedIndexes loses an index", indexed3,
		func(k *scene) { k.pod("a", succeeded, at(1)); k.status(successes(1), completed("0")) },
		func(k *scene) { k.stores(completed("1")) }, func(k *scene) { k.stores(completed("0,1"), successes(2)) }},
	{"S3", "failedIndexes loses an index", perIndex,
		func(k *scene) { k.pod("a", succeeded, at(0)); k.status(failedIndexes("0")) },
		func(k *scene) { k.stores(failedIndexes("")) },
		func(k *scene) { k.stores(failedIndexes(""), completed("0"), successes(1)) }},

	{"S4", "completedIndexes is not canonical", indexed3, func(k *scene) { k.pod("a", succeeded, at(0)) },
		func(k *scene) { k.stores(completed("0-0"), successes(1)) }, func(k *scene) { k.stores(completed("0"), successes(1)) }},
	{"S4", "failedIndexes is not canonical", perIndex, func(k *scene) { k.pod("a", failed, at(0), after(1)) },
		func(k *scene) { k.stores(failedIndexes("0-0")) }, func(k *scene) { k.stores(failedIndexes("0")) }},
	{"S4", "an index has completed and failed", perIndex, func(k *scene) { k.pod("a", succeeded, at(0)); k.status(failedIndexes("0")) },
		func(k *scene) { k.stores(completed("0"), failedIndexes("0"), successes(1)) },
		func(k *scene) { k.stores(completed("0"), failedIndexes(""), successes(1)) }},
	{"S4", "an index completes without a pod that succeeds", indexed3, func(k *scene) { k.pod("a", succeeded, at(0)); k.pod("b", failed, at(1)) },
		func(k *scene) { k.stores(completed("1"), successes(1)) }, func(k *scene) { k.stores(completed("0"), successes(1)) }},
	{"S4", "an index fails below its limit", perIndex, func(k *scene) { k.pod("a", failed, at(0), after(0)); k.pod("b", failed, at(1), after(1)) },
		func(k *scene) { k.stores(failedIndexes("0")) }, func(k *scene) { k.stores(failedIndexes("1")) }},

	{"S5", "too many pods are uncounted", plain,
		func(k *scene) {
			for _, name := range many(501) {
				k.pod(string(name), failed)
			}
		},
		func(k *scene) { k.stores(uncounted(many(501)...)) }, func(k *scene) { k.stores(uncounted(many(500)...)) }},
	{"S5", "a pod is created beyond the completions", plain, func(k *scene) { k.status(successes(1)); k.pod("a") },
		func(k *scene) { k.creates("b"); k.creates("c") }, func(k *scene) { k.creates("b") }},
	{"S5", "a pod is created for an index beyond the completions", indexed3, nil,
		func(k *scene) { k.creates("a", at(3)) }, func(k *scene) { k.creates("a", at(2)) }},
	{"S5", "a pod is created for an index that has completed", indexed3, func(k *scene) { k.status(completed("0"), successes(1)) },
		func(k *scene) { k.creates("a", at(0)) }, func(k *scene) { k.creates("a", at(1)) }},
	{"S5", "the same, and the cache lags", indexed3, func(k *scene) { unobserved(k, completed("0"), successes(1)) },
		func(k *scene) { k.creates("a", at(0)) }, func(k *scene) { k.creates("a", at(1)) }},
	{"S5", "a pod is created for an index that has failed", perIndex, func(k *scene) { k.status(failedIndexes("0")) },
		func(k *scene) { k.creates("a", at(0)) }, func(k *scene) { k.creates("a", at(1)) }},

	{"S6", "there are more pods than parallelism", atATime(2), func(k *scene) { k.pod("a") },
		func(k *scene) { k.creates("b"); k.creates("c") }, func(k *scene) { k.creates("b") }},
	{"S6", "the same, and parallelism was never higher", atATime(1), func(k *scene) { k.pod("a") },
		func(k *scene) { k.creates("b") },
		func(k *scene) { k.spec(func(s *batchv1.JobSpec) { *s.Parallelism = 2 }); k.creates("b") }},
	{"S6", "two pods run for an index", indexed3, func(k *scene) { k.pod("a", at(0)) },
		func(k *scene) { k.creates("b", at(0)) }, func(k *scene) { k.creates("b", at(1)) }},

	{"S7", "a pod is created for a Job with a verdict", plain, nil,
		func(k *scene) { k.status(is(target, "")); k.creates("a") }, func(k *scene) { k.status(); k.creates("a") }},
	{"S7", "the same, and the cache lags", plain, nil,
		func(k *scene) { unobserved(k, is(criteriaMet, "")); k.creates("a") }, func(k *scene) { unobserved(k); k.creates("a") }},
	{"S7", "a pod is created for a suspended Job", plain, nil,
		func(k *scene) { k.spec(suspend); k.creates("a") }, func(k *scene) { k.lag(); k.spec(suspend); k.creates("a") }},
	{"S7", "a pod is created for a Job that is being deleted", plain, nil,
		func(k *scene) { k.deleteJob(); k.creates("a") }, func(k *scene) { k.lag(); k.deleteJob(); k.creates("a") }},

	{"S8", "an interim condition is removed", plain, func(k *scene) { k.status(is(target, "")) },
		func(k *scene) { k.stores(undecided) }, func(k *scene) { k.stores() }},
	{"S8", "a condition is true twice", plain, func(k *scene) { k.status(is(target, "")) },
		func(k *scene) { k.stores(is(target, "")) }, func(k *scene) { k.stores() }},
	{"S8", "a Job succeeds and fails", plain, func(k *scene) { k.status(is(target, "")) },
		func(k *scene) { k.stores(is(criteriaMet, "")) }, func(k *scene) { k.stores() }},
	{"S8", "Complete without SuccessCriteriaMet", plain, nil,
		func(k *scene) { k.stores(started, finished, is(complete, "")) },
		func(k *scene) { k.status(is(criteriaMet, "")); k.stores(started, finished, is(complete, "")) }},
	{"S8", "Failed without FailureTarget", plain, nil,
		func(k *scene) { k.stores(started, is(hasFailed, "")) },
		func(k *scene) { k.status(is(target, "")); k.stores(started, is(hasFailed, "")) }},
	{"S8", "a status changes after the end", plain, func(k *scene) { k.status(started, is(target, "")) },
		func(k *scene) { k.status(is(hasFailed, "")); k.stores() }, func(k *scene) { k.stores() }},

	{"S9", "a completion time before the end", plain, func(k *scene) { k.status(started, is(criteriaMet, "")) },
		func(k *scene) { k.stores(finished) }, func(k *scene) { k.stores(finished, is(complete, "")) }},
	{"S9", "a Job ends with active pods", plain, func(k *scene) { k.status(started, is(target, "")) },
		func(k *scene) { k.pod("a"); k.stores(is(hasFailed, "")) }, func(k *scene) { k.stores(is(hasFailed, "")) }},
	{"S9", "a Job ends with terminating pods", plain, func(k *scene) { k.status(started, is(target, "")) },
		func(k *scene) { k.stores(is(hasFailed, ""), terminating(1)) }, func(k *scene) { k.stores(is(hasFailed, ""), terminating(0)) }},
	{"S9", "a Job ends with uncounted pods", plain,
		func(k *scene) { k.pod("a", failed, counted); k.status(started, is(target, ""), uncounted("a")) },
		func(k *scene) { k.stores(is(hasFailed, "")) }, func(k *scene) { k.stores(is(hasFailed, ""), uncounted(), failures(1)) }},
	{"S9", "a Job ends without a start time", plain, func(k *scene) { k.status(is(target, "")) },
		func(k *scene) { k.stores(is(hasFailed, "")) }, func(k *scene) { k.stores(started, is(hasFailed, "")) }},
	{"S9", "Complete without a completion time", plain, func(k *scene) { k.status(started, is(criteriaMet, "")) },
		func(k *scene) { k.stores(is(complete, "")) }, func(k *scene) { k.stores(finished, is(complete, "")) }},
	{"S9", "Failed with a completion time", plain, func(k *scene) { k.status(started, is(target, "")) },
		func(k *scene) { k.stores(finished, is(hasFailed, "")) }, func(k *scene) { k.stores(is(hasFailed, "")) }},
	{"S9", "a completion before the start", plain, func(k *scene) { k.status(started, is(criteriaMet, "")) },
		func(k *scene) { k.stores(early, is(complete, "")) }, func(k *scene) { k.stores(finished, is(complete, "")) }},
	{"S9", "a Job ends before a finalizer is removed", plain, func(k *scene) { k.status(started, is(target, "")) },
		func(k *scene) { k.pod("a", failed); k.stores(is(hasFailed, "")) },
		func(k *scene) { k.pod("a", failed, counted); k.stores(is(hasFailed, "")) }},

	{"S10", "more pods are ready than active", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.stores(ready(2)) }, func(k *scene) { k.stores(ready(1)) }},
	{"S10", "ready is negative", plain, nil, func(k *scene) { k.stores(ready(-1)) }, func(k *scene) { k.stores(ready(0)) }},
	{"S10", "more pods are active than there are", plain, func(k *scene) { k.pod("a"); k.pod("b", failed) },
		func(k *scene) { k.stores(active(2)) }, func(k *scene) { k.stores(active(1)) }},

	{"S11", "the API server rejects the status", plain, nil, (*scene).invalid, func(k *scene) { k.stores() }},

	{"S12", "a pod is created during the delay", plain,
		func(k *scene) {
			k.pod("a", failed)
			k.stores(uncounted("a"))
			k.strips("a")
			k.stores(uncounted(), failures(1))
		},
		func(k *scene) { k.wait(9); k.creates("b") }, func(k *scene) { k.wait(10); k.creates("b") }},
	{"S12", "an index gets a pod during its second delay", perIndex, func(k *scene) { k.pod("a", failed, at(0), after(1)) },
		func(k *scene) { k.wait(19); k.creates("b", at(0), after(2)) }, func(k *scene) { k.wait(20); k.creates("b", at(0), after(2)) }},

	{"S13", "a replacement has too low a failure count", perIndex, func(k *scene) { k.pod("a", failed, at(0), after(0)); k.wait(10) },
		func(k *scene) { k.creates("b", at(0), after(0)) }, func(k *scene) { k.creates("b", at(0), after(1)) }},
	{"S13", "a replacement has too high a failure count", perIndex, func(k *scene) { k.pod("a", failed, at(0), after(0)); k.wait(10) },
		func(k *scene) { k.creates("b", at(0), after(2)) }, func(k *scene) { k.creates("b", at(0), after(1)) }},

	{"S14", "an ignored failure is counted", ignoring, func(k *scene) { k.pod("a", failed, disrupted); k.pod("b", failed) },
		func(k *scene) { k.stores(uncounted("a")) }, func(k *scene) { k.stores(uncounted("b")) }},

	{"S15", "a pod is created for an unobserved Job", plain, nil,
		func(k *scene) { k.lag(); k.cache.Job = nil; k.creates("a") }, func(k *scene) { k.lag(); k.creates("a") }},
	{"S15", "an orphan is deleted", plain, func(k *scene) { k.pod("a", orphaned, counted); k.pod("b", counted) },
		func(k *scene) { k.deletes("a") }, func(k *scene) { k.deletes("b") }},
	{"S15", "a pod is adopted that the Job does not select", plain, func(k *scene) { k.pod("a", orphaned, unselected); k.pod("b", orphaned) },
		func(k *scene) { k.adopts("a") }, func(k *scene) { k.adopts("b") }},
	{"S15", "a pod of another kind is written", plain,
		func(k *scene) { k.pod("a", ownedBy("Suite", "other")); k.pod("b", ownedBy("Job", "earlier")) },
		func(k *scene) { k.strips("a") }, func(k *scene) { k.strips("b") }},
	{"S15", "a pod of an earlier Job is deleted", plain, func(k *scene) { k.pod("a", ownedBy("Job", "earlier")) },
		func(k *scene) { k.deletes("a") }, func(k *scene) { k.strips("a") }},
	{"S15", "a pod of an earlier Job is released", plain, func(k *scene) { k.pod("a", ownedBy("Job", "earlier")) },
		func(k *scene) { k.patches("a", `{"metadata":{"uid":"a"}}`, orphaned) }, func(k *scene) { k.strips("a") }},
	{"S15", "a deletion names no UID", plain, func(k *scene) { k.pod("a", counted) },
		func(k *scene) { k.deletesWith("a", metav1.DeleteOptions{}) }, func(k *scene) { k.deletes("a") }},
	{"S15", "a patch names no UID", plain, func(k *scene) { k.pod("a", failed); k.stores(uncounted("a")) },
		func(k *scene) { k.patches("a", `{"metadata":{}}`, counted) }, func(k *scene) { k.strips("a") }},

	{"S17", "a Job fails at its backoff limit", limit1, func(k *scene) { k.pod("a", failed) },
		func(k *scene) { k.stores(uncounted("a"), is(target, limitExceeded)) },
		func(k *scene) { k.pod("b", failed); k.stores(uncounted("a", "b"), is(target, limitExceeded)) }},
	{"S17", "a Job fails before the restarts reach the limit", restarting, nil,
		func(k *scene) { k.pod("a", restarts(0)); k.stores(is(target, limitExceeded)) },
		func(k *scene) { k.pod("a", restarts(1)); k.stores(is(target, limitExceeded)) }},
	{"S17", "restarts count with OnFailure only", limit1, func(k *scene) { k.pod("a", restarts(2)) },
		func(k *scene) { k.stores(is(target, limitExceeded)) },
		func(k *scene) { k.spec(restarting[1]); k.stores(is(target, limitExceeded)) }},
	{"S17", "a Job fails before its deadline", deadline, func(k *scene) { k.status(started) },
		func(k *scene) { k.wait(9); k.stores(is(target, "DeadlineExceeded")) },
		func(k *scene) { k.wait(10); k.stores(is(target, "DeadlineExceeded")) }},
	{"S17", "a Job fails at maxFailedIndexes", maxOne, func(k *scene) { k.status(failedIndexes("0,1")) },
		func(k *scene) { k.status(failedIndexes("0")); k.stores(is(target, "MaxFailedIndexesExceeded")) },
		func(k *scene) { k.stores(is(target, "MaxFailedIndexesExceeded")) }},
	{"S17", "a Job fails before all indexes have ended", perIndex, func(k *scene) { k.status(failedIndexes("0"), completed("1"), successes(1)) },
		func(k *scene) { k.stores(is(target, "FailedIndexes")) },
		func(k *scene) { k.status(completed("1,2"), successes(2)); k.stores(is(target, "FailedIndexes")) }},
	{"S17", "a Job fails although no index has", perIndex, func(k *scene) { k.status(completed("0-2"), successes(3)) },
		func(k *scene) { k.stores(is(target, "FailedIndexes")) },
		func(k *scene) {
			k.status(completed("0,1"), successes(2), failedIndexes("2"))
			k.stores(is(target, "FailedIndexes"))
		}},
	{"S17", "a Job fails by a rule that matches no pod", failJob, nil,
		func(k *scene) { k.pod("a", exits(2)); k.stores(is(target, matched)) },
		func(k *scene) { k.pod("a", exits(1)); k.stores(is(target, matched)) }},
	{"S17", "a Job succeeds one pod early", plain, func(k *scene) { k.status(successes(2)) },
		func(k *scene) { k.stores(is(criteriaMet, "")) },
		func(k *scene) { k.pod("a", succeeded); k.stores(uncounted("/", "a"), is(criteriaMet, "")) }},
	{"S17", "a work queue succeeds without a success", queue, nil,
		func(k *scene) { k.stores(is(criteriaMet, "")) },
		func(k *scene) { k.status(successes(1)); k.stores(is(criteriaMet, "")) }},
	{"S17", "a Job succeeds one index early", indexed3, func(k *scene) { k.status(successes(2), completed("0,1")) },
		func(k *scene) { k.stores(is(criteriaMet, "")) },
		func(k *scene) {
			k.pod("a", succeeded, at(2))
			k.stores(completed("0-2"), successes(3), is(criteriaMet, ""))
		}},
	{"S17", "a success policy is met one index early", twoSuffice, func(k *scene) { k.status(successes(1), completed("0")) },
		func(k *scene) { k.stores(is(criteriaMet, "")) },
		func(k *scene) {
			k.pod("a", succeeded, at(2))
			k.stores(completed("0,2"), successes(2), is(criteriaMet, ""))
		}},
	{"S17", "a pod is created after the backoff limit is exceeded", limit1, nil,
		func(k *scene) { k.status(failures(2)); k.creates("a") }, func(k *scene) { k.status(failures(1)); k.creates("a") }},
	{"S17", "a pod is created after the deadline", deadline, func(k *scene) { k.status(started) },
		func(k *scene) { k.wait(10); k.creates("a") }, func(k *scene) { k.wait(9); k.creates("a") }},
	{"S17", "a pod is created after the success policy is met", twoSuffice, nil,
		func(k *scene) { k.status(successes(2), completed("0,1")); k.creates("a", at(2)) },
		func(k *scene) { k.status(successes(1), completed("0")); k.creates("a", at(2)) }},
	{"S17", "a pod is created after a FailJob rule has matched", failJob, nil,
		func(k *scene) { k.pod("a", exits(1)); k.wait(10); k.creates("b") },
		func(k *scene) { k.pod("a", exits(2)); k.wait(10); k.creates("b") }},
	{"S17", "a pod is created after maxFailedIndexes is exceeded", maxOne, nil,
		func(k *scene) { k.status(failedIndexes("0,1")); k.creates("a", at(2)) },
		func(k *scene) { k.status(failedIndexes("0")); k.creates("a", at(2)) }},
	// Shrunk by rapid: a pod that was listed as succeeded and turned to failed has completed its index.
	{"S17", "a pod is created after maxFailedIndexes is exceeded by a failed pod", maxOne, func(k *scene) { k.pod("a", at(1), failed) },
		func(k *scene) { k.status(failedIndexes("0,1")); k.creates("b", at(2)) },
		func(k *scene) { k.status(failedIndexes("0,1"), uncounted("/", "a")); k.creates("b", at(2)) }},

	{"S18", "the pod of a verdict is let go before the verdict is stored", failJob, func(k *scene) { k.pod("a", exits(1)) },
		func(k *scene) { k.stores(uncounted("a")); k.strips("a") },
		func(k *scene) { k.stores(uncounted("a"), is(target, matched)); k.strips("a") }},

	{"S19", "a pod runs on after the end", plain, func(k *scene) { k.lag(); k.unanswered = true; k.creates("a"); k.status(started, is(target, "")) },
		func(k *scene) { k.stores(is(hasFailed, ""), active(0)) },
		func(k *scene) { k.becomes("a", failed, counted); k.stores(is(hasFailed, ""), active(0)) }},

	{"S20", "a suspended Job keeps its start time", plain, func(k *scene) { k.status(started) },
		func(k *scene) { k.stores(is(batchv1.JobSuspended, "")) }, func(k *scene) { k.stores(unstarted, is(batchv1.JobSuspended, "")) }},

	{"S21", "a deleted pod is active while the cache lags", plain, func(k *scene) { k.pod("a"); k.stripsFirst("a"); k.lag(); k.deletes("a") },
		func(k *scene) { k.stores(active(1)) }, func(k *scene) { k.stores(active(0)) }},
	{"S21", "a deleted pod is not terminating while the cache lags", plain, func(k *scene) { k.pod("a"); k.stripsFirst("a"); k.lag(); k.deletes("a") },
		func(k *scene) { k.stores(terminating(0)) }, func(k *scene) { k.stores(terminating(1)) }},
	{"S21", "a created pod is not active while the cache lags", plain, func(k *scene) { k.lag(); k.creates("a") },
		func(k *scene) { k.stores(active(0)) }, func(k *scene) { k.stores(active(1)) }},

	{"S22", "a pod is deleted before the verdict is stored", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.deletes("a") }, func(k *scene) { k.status(is(target, limitExceeded)); k.deletes("a") }},
	{"S22", "a surplus pod keeps its finalizer", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.deletes("a") }, func(k *scene) { k.stripsFirst("a"); k.deletes("a") }},
	{"S22", "a pod is deleted before the verdict is stored, and the Job stays", plain, func(k *scene) { k.pod("a") },
		func(k *scene) { k.deletes("a") }, func(k *scene) { k.deleteJob(); k.deletes("a") }},
	{"S22", "the reason of a verdict changes", plain, func(k *scene) { k.status(is(target, limitExceeded)) },
		func(k *scene) { k.stores(undecided, is(target, "DeadlineExceeded")) }, func(k *scene) { k.stores() }},
	{"S22", "a Job fails for another reason than it was to", plain, func(k *scene) { k.status(started, is(target, limitExceeded)) },
		func(k *scene) { k.stores(is(hasFailed, "DeadlineExceeded")) }, func(k *scene) { k.stores(is(hasFailed, limitExceeded)) }},
	{"S22", "a Job succeeds for another reason than it was to", plain, func(k *scene) { k.status(started, is(criteriaMet, "SuccessPolicy")) },
		func(k *scene) { k.stores(finished, is(complete, "CompletionsReached")) },
		func(k *scene) { k.stores(finished, is(complete, "SuccessPolicy")) }},
}

// The referee refuses each lie with the name of its property, and accepts the truth beside it.
func TestLies(t *testing.T) {
	for _, c := range lies {
		t.Run(c.property+", "+c.clause, func(t *testing.T) {
			for _, side := range []struct {
				what, want string
				happens    func(*scene)
			}{{"given", "", func(*scene) {}}, {"lie", c.property, c.lie}, {"truth", "", c.truth}} {
				k := newScene(c.spec)
				if c.given != nil {
					c.given(k)
				}
				if side.happens(k); k.said != side.want {
					t.Errorf("%s: the referee says %q: %s; want %q", side.what, k.said, k.text, side.want)
				}
			}
		})
	}
}
