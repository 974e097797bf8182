package tracking

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/lifecycle"
)

// DefaultCap is the number of UIDs that the uncounted lists may hold, which
// keeps them under 20 kB (KEP-2307 § Algorithm).
const DefaultCap = census.DefaultCap

// Counted is the result of Count.
type Counted struct {
	// Status is the status to store before any finalizer is removed: the status of the Job
	// with updated lists, counters and indexes. The caller owns it.
	Status *batchv1.JobStatus
	// Strip lists the pods whose finalizer may be removed once Status is stored. They are
	// pods of the input and must not be changed.
	Strip []*corev1.Pod
	// Full says that the lists have reached their cap. Call Count again after these pods
	// are done, because there may be more pods to count.
	Full bool

	indexed bool
	account census.Account
}

// Count returns the next step of counting the pods of a Job. It is for controllers that
// make all other decisions themselves. jobfate.Decide includes this step.
//
// Pass all pods that the Job controls, as fresh as the Job; other pods are ignored. Leave
// out a pod if you have removed its finalizer and the cache still shows it. Otherwise the
// pod is counted again. If the status has the condition SuccessCriteriaMet or
// FailureTarget, or if the Job is being deleted, Strip includes running pods. If the Job
// has ended, Strip includes all pods, and the status does not change.
//
// A failed pod is not counted while it waits for its replacement under a backoff limit per
// index, or while it matches a FailJob rule and the status has no FailureTarget.
func (k Keys) Count(job *batchv1.Job, pods []*corev1.Pod) Counted {
	if job == nil {
		return Counted{}
	}
	owned := ownedBy(job, pods)
	if lifecycle.Finished(job) != nil {
		tracked := slices.DeleteFunc(owned, func(pod *corev1.Pod) bool { return !k.HasFinalizer(pod) })
		return Counted{Status: job.Status.DeepCopy(), Strip: tracked}
	}
	classifier := census.ClassifierOf(job, keys.Keys(k), failurepolicy.FromAPI(job.Spec.PodFailurePolicy))
	c := census.New(classifier, len(owned))
	for _, pod := range owned {
		c.Add(pod, false)
	}
	inputs := census.AccountInputs{
		Ending:       lifecycle.Decide(&lifecycle.Facts{Conditions: job.Status.Conditions}).Interim,
		Deleting:     job.DeletionTimestamp != nil,
		KeepFailsJob: c.FailsJob() != nil,
	}
	status := job.Status
	if classifier.Indexed {
		results := c.IndexResults(lifecycle.ReadIndexes(&job.Status, classifier.Completions))
		inputs.Counted = results.Counted
		putIndexes(&status, results, classifier.PerIndex())
	}
	account := c.Account(inputs)
	account.AddTo(&status, classifier.Indexed)
	return Counted{status.DeepCopy(), account.Strip, account.Full, classifier.Indexed, account}
}

// Settle returns the status to store after the finalizers of the given pods are removed.
// It is Status with their UIDs removed from the lists and added to the counters. The
// caller owns it.
func (c Counted) Settle(gone ...types.UID) *batchv1.JobStatus {
	status := c.Status.DeepCopy()
	if c.account.Lists != nil {
		c.account.Settle(gone).AddTo(status, c.indexed)
	}
	return status
}

// ownedBy returns the pods that a Job controls, each UID once.
func ownedBy(job *batchv1.Job, pods []*corev1.Pod) (owned []*corev1.Pod) {
	seen := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		if pod == nil || pod.UID == "" || seen[pod.UID] || job.UID == "" || !metav1.IsControlledBy(pod, job) {
			continue
		}
		seen[pod.UID] = true
		owned = append(owned, pod)
	}
	return owned
}

// putIndexes sets the completed and failed indexes of a status. A counter above the number
// of completed indexes stays, because the API server does not let it fall.
func putIndexes(out *batchv1.JobStatus, results census.IndexResults, perIndex bool) {
	out.CompletedIndexes = results.Completed.String()
	out.Succeeded = max(out.Succeeded, int32(results.Completed.Len()))
	if perIndex {
		failed := results.Failed.String()
		out.FailedIndexes = &failed
	}
}
