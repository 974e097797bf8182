package counting

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/classify"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

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
	account classify.Account
}

// Count returns the next step of counting the pods of a Job.
//
// Pass all pods that the Job controls, as fresh as the Job; other pods are ignored. Leave
// out a pod if you have removed its finalizer and the cache still shows it. Otherwise the
// pod is counted again. If the status has the condition SuccessCriteriaMet or
// FailureTarget, or if the Job is being deleted, Strip includes running pods. If the Job
// has ended, Strip includes all pods, and the status does not change.
//
// A failed pod is not counted while it waits for its replacement under a backoff limit per
// index, or while it matches a FailJob rule and the status has no FailureTarget.
func Count(job *batchv1.Job, pods []*corev1.Pod, keys tracking.Keys) Counted {
	if job == nil {
		return Counted{}
	}
	owned := ownedBy(job, pods)
	if jobstatus.Finished(job) != nil {
		tracked := slices.DeleteFunc(owned, func(pod *corev1.Pod) bool { return !keys.HasFinalizer(pod) })
		return Counted{Status: job.Status.DeepCopy(), Strip: tracked}
	}
	// The controller reference alone decides which pods count, not the selector.
	of, _ := classify.Of(job, keys, classify.Options{})
	c := counting{&of, inOrder(&of, owned)}
	status, done := job.Status, c.done(&job.Status)
	ending := cmp.Or(jobstatus.True(status.Conditions, batchv1.JobSuccessCriteriaMet),
		jobstatus.True(status.Conditions, batchv1.JobFailureTarget), &batchv1.JobCondition{})
	account := c.account(classify.AccountInputs{
		Ending:       ending.Type,
		Deleting:     job.DeletionTimestamp != nil,
		KeepFailsJob: slices.ContainsFunc(c.records, (*classify.PodRecord).FailsJob),
		Counted:      done.counted,
	}, done)
	if c.Indexed {
		status.CompletedIndexes = done.completed.String()
		// A counter above the number of completed indexes stays: the API server does not let it fall.
		status.Succeeded = max(status.Succeeded, int32(done.completed.Len()))
	}
	if c.PerIndex() {
		failed := done.failed.String()
		status.FailedIndexes = &failed
	}
	status = account.AddTo(status, c.Indexed)
	return Counted{status.DeepCopy(), account.Strip, account.Full, c.Indexed, account}
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

// ownedBy returns the pods that a Job controls, each UID once.
func ownedBy(job *batchv1.Job, pods []*corev1.Pod) (owned []*corev1.Pod) {
	seen := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		if pod != nil && pod.UID != "" && !seen[pod.UID] && job.UID != "" && metav1.IsControlledBy(pod, job) {
			seen[pod.UID] = true
			owned = append(owned, pod)
		}
	}
	return owned
}

// counting is the classified pods of a Job.
type counting struct {
	*classify.Classifier
	records []*classify.PodRecord // ordered by index and UID
}

// inOrder returns the records of owned pods, ordered by index and UID.
func inOrder(c *classify.Classifier, owned []*corev1.Pod) []*classify.PodRecord {
	records := make([]*classify.PodRecord, 0, len(owned))
	var classes classify.Classes
	for _, pod := range owned {
		r := c.Classify(pod, classify.Owned, false, &classes)
		records = append(records, &r)
	}
	slices.SortFunc(records, func(a, b *classify.PodRecord) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return records
}

// done holds the indexes that get no more pods.
type done struct {
	counted   indexset.Set // the completed indexes of the status
	completed indexset.Set // these and the indexes of succeeded pods
	failed    indexset.Set // the others that have failed, according to the status or to pods
}

func (c counting) done(status *batchv1.JobStatus) (d done) {
	if !c.Indexed {
		return done{}
	}
	var succeeded, failing indexset.Builder
	for _, r := range c.records {
		switch {
		case !r.Finalized || !r.Valid:
		case r.Succeeded:
			succeeded.Add(r.Index)
		case r.FailsIndex():
			failing.Add(r.Index)
		}
	}
	var failed indexset.Set
	d.counted, failed = jobstatus.ReadIndexes(status, c.Completions)
	d.completed = d.counted.Union(succeeded.Set())
	d.failed = failed.Union(failing.Set()).Difference(d.completed)
	return d
}

// account computes the next step of counting.
func (c counting) account(in classify.AccountInputs, d done) classify.Account {
	tracked := map[types.UID]bool{}
	waiting := c.waiting(d)
	var candidates []*classify.PodRecord
	for _, r := range c.records {
		if !r.Tracked {
			continue
		}
		tracked[r.Pod.UID] = true
		if in.All() || (r.Succeeded || r.Failed) && waiting[r.Index] != r {
			candidates = append(candidates, r)
		}
	}
	return c.Account(in, slices.Values(candidates), len(candidates),
		func(uid types.UID) bool { return !tracked[uid] })
}

// waiting returns, for each index that needs another pod, the failed pod that waits for it:
// only its annotations say how often the index has failed (KEP-3850 § Tracking the number of
// failures per index). Of several, it is the one with the most failures, then the one that
// failed last.
func (c counting) waiting(d done) map[int32]*classify.PodRecord {
	last := map[int32]*classify.PodRecord{}
	if !c.PerIndex() {
		return last
	}
	for _, r := range c.records { // the UIDs of an index increase
		before := last[r.Index]
		if r.Failed && r.Tracked && r.Valid && !d.completed.Contains(r.Index) && !d.failed.Contains(r.Index) &&
			(before == nil || before.CompareFailures(r) <= 0) {
			last[r.Index] = r
		}
	}
	for _, r := range c.records {
		if r.Active {
			delete(last, r.Index)
		}
	}
	return last
}
