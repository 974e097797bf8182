package census

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/internal/owner"
)

// Classifier holds the parts of the Job that decide how a pod is classified.
type Classifier struct {
	Keys keys.Keys
	// Indexed and Completions decide which indexes are valid.
	Indexed     bool
	Completions int32
	// Limit is the backoff limit. A limit per index decides whether a failure fails
	// the index.
	Limit backoff.Limit
	// ReplaceFailedOnly says that a pod counts as failed only once it has the phase
	// Failed, not already when its deletion begins (KEP-3939).
	ReplaceFailedOnly bool
	// CountRestarts says that container restarts count, as they do with the restart
	// policy OnFailure.
	CountRestarts bool
	// Policy is the pod failure policy; nil for none.
	Policy *failurepolicy.Spec
	// Uncounted are the lists of the status.
	Uncounted Uncounted
}

// ClassifierOf returns the classifier of a Job with the given spec and status, and with the given
// policy in place of its own. A Job that the API server would reject, because it is Indexed and has
// parallelism but no completions, is read as one that is not Indexed.
func ClassifierOf(job *batchv1.Job, k keys.Keys, policy *failurepolicy.Spec) Classifier {
	spec, one := &job.Spec, int32(1)
	c := Classifier{
		Keys:  k,
		Limit: backoff.LimitOf(spec),
		// KEP-3939: with a pod failure policy only failed pods are replaced, since rules
		// are matched against terminated pods only.
		ReplaceFailedOnly: policy != nil || spec.PodReplacementPolicy != nil &&
			*spec.PodReplacementPolicy == batchv1.Failed,
		CountRestarts: spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Policy:        policy,
		Uncounted:     ReadUncounted(job.Status.UncountedTerminatedPods),
	}
	if lifecycle.IsIndexed(spec) && (spec.Completions != nil || spec.Parallelism == nil) {
		c.Indexed, c.Completions = true, *cmp.Or(spec.Completions, &one)
	}
	return c
}

// PerIndex reports whether the Job has a backoff limit per index.
func (c *Classifier) PerIndex() bool { return c.Indexed && c.Limit.Target == backoff.TargetIndex }

// read fills in the record of a pod of the Job. A pod that is being adopted counts as
// finalized, because the patch that adopts it adds the finalizer. stripped are the pods
// whose finalizer has been removed. index is the index annotation; empty if there is none.
func (c *Classifier) read(r *Record, stripped map[types.UID]bool, index string) {
	r.Index = keys.NoIndex
	if c.Indexed {
		r.Index = keys.ParseIndex(index)
	}
	r.Valid = !c.Indexed || r.Index != keys.NoIndex && r.Index < c.Completions
	r.Finalized = r.Relation == owner.Adoptable || slices.Contains(r.Pod.Finalizers, c.Keys.Finalizer)
	r.Tracked = r.Finalized && !stripped[r.Pod.UID]
	pod := r.Pod
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		r.Succeeded = true
	case pod.Status.Phase == corev1.PodFailed:
		r.Failed = true
	case pod.DeletionTimestamp != nil:
		r.Terminating = true
		r.Failed = !c.ReplaceFailedOnly
	default:
		r.Active = true
		r.Ready = ready(pod)
	}
	if r.Finalized && len(c.Uncounted.listed) > 0 {
		c.applyLists(r)
	}
	if !r.Failed {
		return
	}
	if c.PerIndex() {
		r.Counts = c.Keys.CountsOf(pod.Annotations)
		r.Exhausted = c.Limit.IndexExhausted(r.Counts.Failures)
	}
}

// applyLists lets the list that has a pod overrule the pod's phase. A listed pod that has
// not finished keeps its state and counts as listed when it finishes. Such pods exist in a
// failing Job, which lists unfinished pods too, and after an edit of the status.
func (c *Classifier) applyLists(r *Record) {
	failed, listed := c.Uncounted.listed[r.Pod.UID]
	if !listed {
		return
	}
	r.Listed = true
	if r.Succeeded || r.Failed {
		r.Succeeded, r.Failed = !failed, failed
	}
}

func ready(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
