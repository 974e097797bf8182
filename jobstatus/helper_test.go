package jobstatus_test

import batchv1 "k8s.io/api/batch/v1"

// indexedJob returns an Indexed Job with these indexes in its status.
func indexedJob(completions int32, completed string, failed *string) *batchv1.Job {
	return &batchv1.Job{
		Spec:   batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: &completions},
		Status: batchv1.JobStatus{CompletedIndexes: completed, FailedIndexes: failed},
	}
}
