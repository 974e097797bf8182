package job

import (
	"context"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobfate/jobfate/jobstatus"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func (j *Job) ReclaimablePods(context.Context, client.Client) ([]kueue.ReclaimablePod, error) {
	if count := jobstatus.Reclaimable((*batchv1.Job)(j)); count > 0 {
		return []kueue.ReclaimablePod{{Name: kueue.DefaultPodSetName, Count: count}}, nil
	}
	return nil, nil
}

// terminalIndexesCount returns how many of an Indexed Job's indexes will never run again.
func terminalIndexesCount(_ logr.Logger, completedIndexes, failedIndexes string, completions int32) int32 {
	return int32(jobstatus.IndexesFinished(&batchv1.Job{
		Spec:   batchv1.JobSpec{CompletionMode: new(batchv1.IndexedCompletion), Completions: &completions},
		Status: batchv1.JobStatus{CompletedIndexes: completedIndexes, FailedIndexes: &failedIndexes},
	}))
}

func (j *Job) Finished(context.Context) (message string, success, finished bool) {
	if c := jobstatus.Finished((*batchv1.Job)(j)); c != nil {
		return c.Message, c.Type == batchv1.JobComplete, true
	}
	return "", true, false
}
