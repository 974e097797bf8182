package decide_test

import (
	"math"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// demandJob returns a Job with a parallelism of 5, completions of 10 and a backoff limit of
// 3, and then applies the changes.
func demandJob(changes ...func(*batchv1.Job)) *batchv1.Job {
	job := NewJob()
	job.Generation = 1
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = new(int32(5)), new(int32(10)), new(int32(3))
	for _, change := range changes {
		change(job)
	}
	return job
}

func withoutNumbers(job *batchv1.Job) { job.Spec.Parallelism, job.Spec.Completions = nil, nil }
func workQueue(job *batchv1.Job)      { job.Spec.Completions = nil }
func indexed(job *batchv1.Job)        { job.Spec.CompletionMode = new(batchv1.IndexedCompletion) }

func perIndex(retries int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		indexed(job)
		job.Spec.BackoffLimit, job.Spec.BackoffLimitPerIndex = nil, &retries
	}
}

func counted(active, succeeded, failed int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Active, job.Status.Succeeded, job.Status.Failed = active, succeeded, failed
	}
}

func suspendedSpec(job *batchv1.Job) { job.Spec.Suspend = new(true) }
func editedSpec(job *batchv1.Job)    { job.Generation = 2 }

func generation(n int64) func(*batchv1.Job) { return func(job *batchv1.Job) { job.Generation = n } }

func replaceFailed(job *batchv1.Job) { job.Spec.PodReplacementPolicy = new(batchv1.Failed) }

func terminating(n int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.Terminating = &n }
}

func rule(action batchv1.PodFailurePolicyAction) func(*batchv1.Job) { return ExitRule(action, 42) }

func byPods(job *batchv1.Job, pods []*corev1.Pod) decide.Demand {
	return decide.DemandWithPods(job, pods, tracking.Keys{})
}

func exactly(n int64) decide.Range           { return decide.Range{Least: n, Most: n} }
func between(least, most int64) decide.Range { return decide.Range{Least: least, Most: most} }

func TestDemandOf_byStatus(t *testing.T) {
	none := decide.Range{}
	for _, tc := range []struct {
		reason  string
		job     *batchv1.Job
		atOnce  decide.Range
		inTotal decide.Range
	}{
		{"four failures end the Job, three do not", demandJob(), between(1, 5), between(4, 13)},
		{"parallelism and completions default to 1 if both are absent",
			demandJob(withoutNumbers), exactly(1), between(1, 4)},
		{"one completion is left", demandJob(counted(1, 9, 0)), exactly(1), between(1, 4)},
		{"fewer completions are left than parallelism", demandJob(counted(2, 8, 1)), exactly(2), between(2, 4)},
		{"the backoff limit is used up", demandJob(counted(5, 0, 3)), exactly(5), between(5, 10)},
		{"pods in the uncounted lists have ended too", demandJob(counted(1, 8, 0), func(j *batchv1.Job) {
			j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}, Failed: []types.UID{"b", "c"}}
		}), exactly(1), between(1, 2)},

		{"a work queue needs one success", demandJob(workQueue), between(1, 5), between(1, 8)},
		{"after a success no pod is added to a work queue", demandJob(workQueue, counted(3, 2, 0)), exactly(3), exactly(3)},
		{"the status of a work queue may lack pods that were added before the success",
			demandJob(workQueue, counted(0, 2, 1)), between(0, 3), between(0, 3)},

		{"each index runs once, or twice", demandJob(perIndex(1)), between(1, 5), between(10, 20)},
		{"an index that has failed needs no pod", demandJob(perIndex(0), counted(1, 1, 1), func(j *batchv1.Job) {
			j.Spec.Completions = new(int32(3))
			j.Status.CompletedIndexes, j.Status.FailedIndexes = "0", new("1")
		}), exactly(1), exactly(1)},
		{"maxFailedIndexes may be exceeded", demandJob(perIndex(0), maxFailed(1)), between(1, 5), between(2, 10)},
		{"two of four indexes that may fail have a pod", demandJob(perIndex(0), maxFailed(3), counted(2, 0, 0)), between(2, 5), between(4, 10)},
		{"a FailIndex rule fails an index at the first failure", demandJob(perIndex(5), rule(batchv1.PodFailurePolicyActionFailIndex), maxFailed(1)),
			between(1, 5), between(2, 60)},
		{"completions scaled down below the completed indexes", demandJob(indexed, editedSpec, counted(1, 9, 0), func(j *batchv1.Job) {
			j.Spec.Completions, j.Status.CompletedIndexes = new(int32(10)), "0-8,10-19"
		}), exactly(1), between(1, 4)},
		{"a success policy ends the Job early", demandJob(indexed, successOf(2, "0-2")), between(1, 5), between(2, 13)},
		{"after these successes no index is left to start", demandJob(indexed, successOf(2, "")), between(1, 5), between(2, 9)},

		{"a FailJob rule ends the Job at the first pod", demandJob(rule(batchv1.PodFailurePolicyActionFailJob)), between(1, 5), between(1, 13)},
		{"a container restart may end the Job at the first pod", demandJob(func(j *batchv1.Job) {
			j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}), between(1, 5), between(1, 13)},
		{"a deadline may end the Job before any pod", demandJob(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(1)) }), between(0, 5), between(0, 13)},

		{"terminating pods are not replaced before they have failed", demandJob(replaceFailed, counted(2, 0, 0), terminating(2)), between(4, 5), between(4, 15)},
		{"terminating pods are replaced at once", demandJob(counted(5, 0, 0), terminating(2)), exactly(7), between(7, 15)},
		{"surplus pods are deleted", demandJob(editedSpec, counted(7, 0, 0), replaceFailed), exactly(7), between(7, 15)},

		{"parallelism 0", demandJob(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) }, counted(2, 1, 0)), exactly(2), exactly(2)},
		{"suspended", demandJob(suspendedSpec, editedSpec, Has(batchv1.JobSuspended), terminating(3)), exactly(3), exactly(3)},
		{"suspended from the start", demandJob(suspendedSpec), none, none},
		{"suspended again: the condition may be that of the suspension before",
			demandJob(suspendedSpec, generation(3), Has(batchv1.JobSuspended), terminating(1)), between(1, 6), between(1, 14)},
		{"suspended again, and nothing is known of the spec", demandJob(suspendedSpec, generation(0), Has(batchv1.JobSuspended)),
			between(0, 5), between(0, 13)},
		{"suspended twice: pods may be deleted for the first time, and created again",
			demandJob(suspendedSpec, generation(4), replaceFailed), between(0, 5), between(0, 18)},
		{"suspended twice: they may be replaced before they are gone", demandJob(suspendedSpec, generation(5)), between(0, 10), between(0, 18)},
		{"suspended three times", demandJob(suspendedSpec, generation(6)), between(0, 15), between(0, 23)},
		{"suspended twice: only the completions that are left", demandJob(suspendedSpec, generation(4), counted(0, 9, 0)), between(0, 2), between(0, 5)},
		{"suspended and resumed: the suspension is assumed to be observed", demandJob(generation(5)), between(1, 5), between(4, 13)},
		{"being suspended: pods may still be created", demandJob(suspendedSpec, editedSpec), between(0, 5), between(0, 13)},
		{"resumed", demandJob(editedSpec, Has(batchv1.JobSuspended)), between(1, 5), between(4, 13)},
		{"being deleted", demandJob(counted(2, 0, 0), func(j *batchv1.Job) { j.DeletionTimestamp = new(After(0)) }), exactly(2), exactly(2)},
		{"decided", demandJob(counted(1, 0, 4), terminating(2), Has(batchv1.JobFailureTarget)), exactly(3), exactly(3)},
		{"ended", demandJob(counted(0, 10, 0), Has(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)), none, none},
		{"no Job", nil, none, none},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			Same(t, "demand", decide.DemandOf(tc.job), decide.Demand{AtOnce: tc.atOnce, InTotal: tc.inTotal})
		})
	}
}

// With an Ignore rule pods may be replaced without end, unless the Job gets no more pods.
func TestDemandOf_unbounded(t *testing.T) {
	ignore := rule(batchv1.PodFailurePolicyActionIgnore)
	for _, tc := range []struct {
		reason string
		job    *batchv1.Job
		want   bool
	}{
		{"an Ignore rule", demandJob(ignore), true},
		{"no such rule", demandJob(rule(batchv1.PodFailurePolicyActionCount)), false},
		{"all pods of a work queue run already", demandJob(ignore, workQueue, counted(3, 2, 0)), false},
		{"nothing left to do", demandJob(ignore, counted(0, 10, 0)), false},
		{"suspended", demandJob(ignore, suspendedSpec), false},
		{"suspended twice", demandJob(ignore, suspendedSpec, generation(4)), true},
		{"decided", demandJob(ignore, Has(batchv1.JobFailureTarget)), false},
	} {
		d := decide.DemandOf(tc.job)
		if d.Unbounded != tc.want || (d.InTotal.Most == math.MaxInt64) != tc.want {
			t.Errorf("%s: got %+v, want unbounded %t", tc.reason, d, tc.want)
		}
	}
}

// demandPods returns pods of the Job. Each text describes a pod: its phase, and "index=N",
// "failures=N", "code=42", "deleted", "foreign" or "stripped".
func demandPods(job *batchv1.Job, texts ...string) (pods []*corev1.Pod) {
	for i, text := range texts {
		pod := Pod("pod-"+string(rune('a'+i)), ControlledBy(job.UID))
		for _, word := range strings.Fields(text) {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "index":
				Index(value)(pod)
			case "failures":
				Failures(value)(pod)
			case "code":
				Exit(42, After(0))(pod)
			case "deleted":
				Deleted(pod)
			case "foreign":
				ControlledBy("another")(pod)
			case "stripped":
				Released(pod)
			default:
				pod.Status.Phase = corev1.PodPhase(word)
			}
		}
		pods = append(pods, pod)
	}
	return pods
}

func TestDemandWithPods(t *testing.T) {
	two := sized(2, 2, 3)
	for _, tc := range []struct {
		reason  string
		job     *batchv1.Job
		pods    []string
		inTotal decide.Range
	}{
		{"pods that the status lacks", demandJob(two), []string{"Running", "Pending"}, between(2, 5)},
		{"pods that have ended are not counted yet", demandJob(two), []string{"Running", "Succeeded"}, between(1, 4)},
		{"a failed pod is not counted yet", demandJob(two), []string{"Running", "Failed"}, between(2, 4)},
		{"pods of other owners do not count", demandJob(two), []string{"Running foreign", "Running"}, between(2, 5)},
		{"a pod without a finalizer is not counted when it ends", demandJob(two), []string{"Running stripped", "Running"}, between(3, 6)},
		{"no pods", demandJob(two, counted(2, 0, 0)), nil, between(2, 5)},
		{"no pods any more, which the status does not know yet", demandJob(workQueue, counted(3, 2, 0)), nil, exactly(0)},
		{"an index has no retry left", demandJob(two, perIndex(1)), []string{"Running index=0 failures=1", "Running index=1 failures=0"}, between(2, 3)},
		{"a failed pod waits for its replacement", demandJob(two, perIndex(1)), []string{"Failed index=0 failures=0", "Running index=1 failures=1"}, exactly(2)},
		{"an ignored failure does not count towards the limit of its index", demandJob(two, perIndex(0), rule(batchv1.PodFailurePolicyActionIgnore)),
			[]string{"Failed index=0 failures=0 code=42", "Running index=1 failures=0"}, between(2, math.MaxInt64)},
		{"the index of an ignored failure takes a pod to fail", demandJob(two, perIndex(0), rule(batchv1.PodFailurePolicyActionIgnore), maxFailed(0)),
			[]string{"Failed index=0 failures=0 code=42", "Succeeded index=1"}, between(1, math.MaxInt64)},
		{"one of two failures too many has failed its index", demandJob(perIndex(1), sized(3, 2, 0)),
			[]string{"Failed index=0 failures=1", "Failed index=1 failures=0"}, exactly(0)},
		{"a FailJob verdict: only a sync that has not observed it creates pods", demandJob(two, rule(batchv1.PodFailurePolicyActionFailJob)),
			[]string{"Failed code=42"}, between(0, 1)},
		{"scaled down and up: an index may be counted whose pod has no finalizer any more", demandJob(two, indexed, editedSpec),
			[]string{"Running index=0", "Succeeded index=1 stripped"}, between(1, 5)},
		{"scaled down and up: so may an index that has failed", demandJob(two, perIndex(0), editedSpec),
			[]string{"Running index=0", "Failed index=1 stripped"}, between(1, 2)},
		{"scaled down and up: it takes one more index to fail the Job", demandJob(two, perIndex(1), editedSpec,
			func(j *batchv1.Job) { j.Spec.Completions, j.Spec.MaxFailedIndexes = new(int32(3)), new(int32(1)) }),
			[]string{"Failed index=0 failures=1 stripped", "Running index=1 failures=1"}, between(1, 5)},
		{"scaled down and up: such a success satisfies the success policy", demandJob(two, indexed, editedSpec, successOf(1, "")),
			[]string{"Failed index=0", "Succeeded index=1 stripped"}, between(0, 4)},
		{"scaled down and up: a failure that can be retried does not end the index", demandJob(two, perIndex(1), editedSpec),
			[]string{"Running index=0", "Failed index=1 stripped"}, between(2, 4)},
		{"scaled down and up: nor does a failure that is ignored", demandJob(two, perIndex(0), editedSpec, rule(batchv1.PodFailurePolicyActionIgnore)),
			[]string{"Running index=0", "Failed index=1 code=42 stripped"}, between(2, math.MaxInt64)},
		{"a pod beyond the completions is deleted and does not count", demandJob(two, indexed),
			[]string{"Running index=0", "Running index=5"}, between(3, 6)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			Same(t, "in total", byPods(tc.job, demandPods(tc.job, tc.pods...)).InTotal, tc.inTotal)
		})
	}
}

// Parallelism has been lowered to 1. A controller that has not observed that a pod has
// succeeded deletes the other one, and replaces it while it terminates.
func TestDemandWithPods_surplus(t *testing.T) {
	job := demandJob(editedSpec, sized(1, 2, 3))
	pods := demandPods(job, "Running", "Succeeded")
	Same(t, "at once", byPods(job, pods).AtOnce, between(1, 2))
	Same(t, "at once, if the other pod has failed", byPods(job, demandPods(job, "Running", "Failed")).AtOnce, between(1, 2))
	replaceFailed(job)
	Same(t, "at once, if only failed pods are replaced", byPods(job, pods).AtOnce, exactly(1))
}
