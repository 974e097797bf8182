package census_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/classify"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// names holds the names of Kubernetes.
var names = tracking.Keys{}.WithDefaults()

func policy() *failurepolicy.Spec { return failurepolicy.FromAPI(ExitCodePolicy()) }

// perIndex is a backoff limit per index.
func perIndex(limit int32) backoff.Limit {
	return backoff.Limit{Target: backoff.TargetIndex, PerIndex: limit}
}

func newCensus(c classify.Classifier, n int) *census.Census { return census.New(&c, n) }

// classifierOf returns the classifier of a Job.
func classifierOf(job *batchv1.Job) classify.Classifier {
	return Must(classify.Of(job, names, classify.Options{}))
}

// take returns the census of the pods.
func take(c classify.Classifier, pods ...*corev1.Pod) *census.Census {
	taken := newCensus(c, len(pods))
	for _, pod := range pods {
		taken.Add(pod, classify.Owned)
	}
	return taken
}

// failsJob returns the pod whose failure fails the Job; nil if there is none.
func failsJob(c *census.Census) *corev1.Pod {
	if r := c.FailsJob(); r != nil {
		return r.Pod
	}
	return nil
}

// summary returns an account in one line.
func summary(a classify.Account) string {
	return fmt.Sprintf("succeeded%v failed%v +%d +%d strip%v handled%v recorded %d full %v",
		a.Lists.Succeeded, a.Lists.Failed, a.Succeeded, a.Failed, UIDsOf(a.Strip), a.Handled, a.Recorded, a.Full)
}
