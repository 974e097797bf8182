package adopters_test

import (
	"fmt"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/cloudnative-pg/cloudnative-pg/pkg/utils"
	kuberay "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	jobset "sigs.k8s.io/jobset/pkg/controllers"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/test/adopters"
)

//go:linkname jobReady helm.sh/helm/v3/pkg/kube.(*ReadyChecker).jobReady
func jobReady(checker *kube.ReadyChecker, job *batchv1.Job) (bool, error)

var checker = kube.NewReadyChecker(nil, func(string, ...any) {})

// ready returns how a Job ends, according to a function that waits for its end.
func ready(isReady bool, err error) string {
	switch {
	case err != nil:
		return string(jobstatus.Failed)
	case isReady:
		return string(jobstatus.Complete)
	}
	return ""
}

// endedOrFailing returns how a Job ends, a failure as soon as it is decided.
func endedOrFailing(job *batchv1.Job) string {
	o := jobstatus.OutcomeOf(job)
	if o.Phase == jobstatus.Failing || o.Phase == jobstatus.Failed {
		return string(jobstatus.Failed)
	}
	return adopters.Ended(job)
}

func compute(job *batchv1.Job) string {
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return err.Error()
	}
	u["apiVersion"], u["kind"] = "batch/v1", "Job"
	r, err := status.Compute(&unstructured.Unstructured{Object: u})
	switch {
	case err != nil:
		return err.Error()
	case r.Status == status.FailedStatus:
		return string(jobstatus.Failed)
	case r.Status == status.CurrentStatus && strings.HasPrefix(r.Message, "Job Completed"):
		return string(jobstatus.Complete)
	}
	return ""
}

var (
	fewerSuccesses = adopters.Class{Name: "fewer successes than completions", Holds: func(job *batchv1.Job) bool {
		n := job.Spec.Completions
		return IsTrue(job, batchv1.JobComplete) && n != nil && job.Status.Succeeded < *n
	}}
	countedBefore = adopters.Class{Name: "counted before the end", Holds: func(job *batchv1.Job) bool {
		return !jobstatus.OutcomeOf(job).Terminal() && job.Status.Succeeded >= *job.Spec.Completions
	}}
)

func TestFunctions(t *testing.T) {
	adopters.Compare(t, "../../docs/replace.md", []adopters.Function{
		{
			Name: "IsJobFinished",
			Theirs: func(job *batchv1.Job) string {
				how, _ := kuberay.IsJobFinished(job)
				return string(how)
			},
			Ours:    endedOrFailing,
			Classes: []adopters.Class{adopters.Contradictory},
		},
		{
			Name: "JobFinished",
			Theirs: func(job *batchv1.Job) string {
				_, how := jobset.JobFinished(job)
				return string(how)
			},
			Ours: adopters.Ended,
		},
		{
			Name:   "status.Compute",
			Theirs: compute,
			Ours:   adopters.Ended,
			Classes: []adopters.Class{
				{Name: "being deleted", Holds: func(job *batchv1.Job) bool { return job.DeletionTimestamp != nil }},
			},
		},
		{
			Name:   "jobReady",
			Lives:  true,
			Theirs: func(job *batchv1.Job) string { return ready(jobReady(&checker, job)) },
			Ours:   endedOrFailing,
			Classes: []adopters.Class{
				{Name: "complete after many failures", Holds: func(job *batchv1.Job) bool {
					return IsTrue(job, batchv1.JobComplete) && job.Status.Failed > *job.Spec.BackoffLimit
				}},
				fewerSuccesses,
				{Name: "failed within the limit", Holds: func(job *batchv1.Job) bool {
					return IsTrue(job, batchv1.JobFailureTarget) && job.Status.Failed <= *job.Spec.BackoffLimit
				}},
				{Name: "work queue", Holds: func(job *batchv1.Job) bool {
					return !jobstatus.OutcomeOf(job).Terminal() && job.Spec.Completions == nil
				}},
				countedBefore,
			},
		},
		{
			Name:   "JobHasOneCompletion",
			Lives:  true,
			Theirs: func(job *batchv1.Job) string { return fmt.Sprint(utils.JobHasOneCompletion(*job)) },
			Ours: func(job *batchv1.Job) string {
				return fmt.Sprint(jobstatus.OutcomeOf(job).Phase == jobstatus.Complete)
			},
			Classes: []adopters.Class{
				fewerSuccesses,
				{Name: "work queue", Holds: func(job *batchv1.Job) bool { return job.Spec.Completions == nil }},
				{Name: "failed with enough successes", Holds: func(job *batchv1.Job) bool {
					return IsTrue(job, batchv1.JobFailed) && job.Status.Succeeded == *job.Spec.Completions
				}},
				{Name: "more successes than completions", Holds: func(job *batchv1.Job) bool {
					return IsTrue(job, batchv1.JobComplete) && job.Status.Succeeded > *job.Spec.Completions
				}},
				countedBefore,
			},
		},
	})
}
