package jobstatus

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/lifecycle"
	"github.com/jobfate/jobfate/tracking"
)

// Counted is the result of Count.
type Counted struct {
	// Status is the status to store before any finalizer is removed: the status of the Job
	// with updated lists, counters and indexes. The caller owns it.
	Status *batchv1.JobStatus
	// Strip lists the pods whose finalizer may be removed once Status is stored, ordered by index and
	// UID. They are pods of the input and must not be changed.
	Strip []*corev1.Pod
	// Full says that the lists have reached their cap. Call Count again after these pods
	// are done, because there may be more pods to count.
	Full bool

	indexed bool
	account tracking.Account
}

// Count returns the next step of counting the pods of a Job. It is for controllers that
// make all other decisions themselves. jobfate.Decide includes this step.
//
// Pass all pods that the Job controls, as fresh as the Job; other pods are ignored. Leave
// out a pod if you have removed its finalizer and the cache still shows it. Otherwise the
// pod is counted again. If the status has the condition SuccessCriteriaMet or
// FailureTarget, or if the Job is being deleted, Strip includes running pods. If the Job
// has ended, Strip includes all pods, and the status does not change. If the pods use other
// keys than those of Kubernetes, pass these too.
//
// A failed pod is not counted while it waits for its replacement under a backoff limit per
// index, or while it matches a FailJob rule and the status has no FailureTarget.
func Count(job *batchv1.Job, pods []*corev1.Pod, of ...tracking.Keys) Counted {
	if job == nil {
		return Counted{}
	}
	// The controller reference alone decides which pods count, not the selector.
	c, _ := tracking.ClassifierOf(job, keysOf(of), tracking.Options{})
	owned := census.New(&c, len(pods))
	for _, pod := range pods {
		if pod != nil && pod.UID != "" && job.UID != "" && metav1.IsControlledBy(pod, job) && owned.Of(pod.UID) == nil {
			owned.Add(pod, false)
		}
	}
	status := job.Status
	if lifecycle.Finished(job) != nil {
		var strip []*corev1.Pod
		for _, r := range owned.TrackedInOrder() {
			strip = append(strip, r.Pod)
		}
		return Counted{Status: status.DeepCopy(), Strip: strip}
	}
	results := owned.IndexResults(lifecycle.ReadIndexes(&status, c.Completions))
	account := owned.Account(tracking.AccountInputs{
		Ending:       lifecycle.Decide(&lifecycle.Facts{Conditions: status.Conditions}).Interim,
		Deleting:     job.DeletionTimestamp != nil,
		KeepFailsJob: owned.FailsJob() != nil,
		Counted:      owned.Counted(),
	})
	if c.Indexed {
		status.CompletedIndexes = results.Completed.String()
		// A counter above the number of completed indexes stays: the API server does not let it fall.
		status.Succeeded = max(status.Succeeded, int32(results.Completed.Len()))
	}
	if c.PerIndex() {
		failed := results.Failed.String()
		status.FailedIndexes = &failed
	}
	status = account.AddTo(status, c.Indexed)
	return Counted{status.DeepCopy(), account.Strip, account.Full, c.Indexed, account}
}

// keysOf returns the keys that a caller has passed, or those of Kubernetes.
func keysOf(of []tracking.Keys) (keys tracking.Keys) {
	if len(of) > 0 {
		keys = of[0]
	}
	return keys
}

// Settle returns the status to store after the finalizers of the given pods are removed.
// It is Status with their UIDs removed from the lists and added to the counters. The
// caller owns it.
func (c Counted) Settle(gone ...types.UID) *batchv1.JobStatus {
	if c.account.Lists == nil { // the Job has ended
		return c.Status.DeepCopy()
	}
	status := c.account.Settle(gone).AddTo(*c.Status, c.indexed)
	return status.DeepCopy()
}
