package census_test

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

type edit = podtest.Edit

var (
	after        = podtest.After
	newJob       = podtest.Job
	newPod       = podtest.Pod
	phase        = podtest.Phase
	exit         = podtest.Exit
	succeeded    = podtest.Succeeded
	failed       = podtest.Failed
	deleted      = podtest.Deleted
	released     = podtest.Released
	ownerless    = podtest.Ownerless
	controlledBy = podtest.ControlledBy
	label        = podtest.Label
	annotation   = podtest.Annotation
	index        = podtest.Index
	failures     = podtest.Failures
	uidsOf       = podtest.UIDsOf
	lists        = podtest.Lists
	same         = podtest.Same
)

// names are the keys of Kubernetes.
var names tracking.Keys

func ptrTo[T any](v T) *T { return &v }

func uids(names ...types.UID) []types.UID { return names }

// The exit codes of the pod failure policy in these tests.
const (
	exitPlain     = podtest.ExitPlain
	exitCount     = podtest.ExitCount
	exitIgnore    = podtest.ExitIgnore
	exitFailIndex = podtest.ExitFailIndex
	exitFailJob   = podtest.ExitFailJob
)

func policy() *failurepolicy.Spec { return failurepolicy.FromAPI(podtest.FailurePolicy()) }

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
	job := newJob()
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
		a.Lists.Succeeded, a.Lists.Failed, a.Succeeded, a.Failed, uidsOf(a.Strip), a.Handled, a.Recorded, a.Full)
}
