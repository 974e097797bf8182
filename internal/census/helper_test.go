package census_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

// names holds the keys of Kubernetes.
var names tracking.Keys

func policy() *failurepolicy.Spec { return failurepolicy.FromAPI(ExitCodePolicy()) }

// perIndex is a backoff limit per index.
func perIndex(limit int32) backoff.Limit {
	return backoff.Limit{Target: backoff.TargetIndex, PerIndex: limit}
}

func newCensus(c tracking.Classifier, n int) *census.Census { return census.New(&c, n) }

// classifierOf returns the classifier of a Job.
func classifierOf(t interface{ Fatalf(string, ...any) }, job *batchv1.Job) tracking.Classifier {
	c, err := tracking.ClassifierOf(job, names, tracking.Options{})
	if err != nil {
		t.Fatalf("ClassifierOf: %v", err)
	}
	return c
}

// readUncounted returns uncounted lists as they are read from a status.
func readUncounted(lists *batchv1.UncountedTerminatedPods) tracking.Uncounted {
	job := NewJob()
	job.Status.UncountedTerminatedPods = lists
	c, _ := tracking.ClassifierOf(job, names, tracking.Options{})
	return c.Uncounted
}

// take returns the census of the pods.
func take(c tracking.Classifier, pods ...*corev1.Pod) *census.Census {
	taken := newCensus(c, len(pods))
	for _, pod := range pods {
		taken.Add(pod, false)
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
func summary(a tracking.Account) string {
	return fmt.Sprintf("succeeded%v failed%v +%d +%d strip%v handled%v recorded %d full %v",
		a.Lists.Succeeded, a.Lists.Failed, a.Succeeded, a.Failed, UIDsOf(a.Strip), a.Handled, a.Recorded, a.Full)
}
