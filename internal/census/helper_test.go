package census_test

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/podtest"
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
var names keys.Keys

func ptrTo[T any](v T) *T { return &v }

func uids(names ...types.UID) []types.UID { return names }

// The rules of the pod failure policy in these tests, by exit code.
const (
	exitPlain = 1 + iota // no rule
	exitCount
	exitIgnore
	exitFailIndex
	exitFailJob
)

var actionOf = map[int32]batchv1.PodFailurePolicyAction{
	exitCount:     batchv1.PodFailurePolicyActionCount,
	exitIgnore:    batchv1.PodFailurePolicyActionIgnore,
	exitFailIndex: batchv1.PodFailurePolicyActionFailIndex,
	exitFailJob:   batchv1.PodFailurePolicyActionFailJob,
}

// policy has one rule for each exit code in actionOf.
func policy() *failurepolicy.Spec {
	spec := &failurepolicy.Spec{}
	for code := int32(exitCount); code <= exitFailJob; code++ {
		spec.Rules = append(spec.Rules, failurepolicy.Rule{
			Action: actionOf[code],
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
			},
		})
	}
	return spec
}

// perIndex is a backoff limit per index.
func perIndex(limit int32) backoff.Limit {
	return backoff.Limit{Target: backoff.TargetIndex, PerIndex: limit}
}

// take returns the census of the pods.
func take(c census.Classifier, pods ...*corev1.Pod) *census.Census {
	taken := census.New(c, len(pods))
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
