// Package retryfailed makes, of an Indexed Job that has ended, the Job that runs
// some of its indexes again: those that failed, or those that were never run.
//
// A Job numbers its indexes from 0 without gaps, so the new Job has indexes of its
// own. Which index of the first Job each of them stands for is told to its pods in
// an environment variable, in the form of the status, as in "3,7-9".
package retryfailed

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// Variable is the environment variable and the annotation with the indexes. A
// container whose JOB_COMPLETION_INDEX is i is to do the work of the i-th of them.
const (
	Variable   = "RETRIED_INDEXES"
	Annotation = "example.com/retried-indexes"
)

// Failed returns the Job that runs again the indexes that failed.
func Failed(job *batchv1.Job, name string) (*batchv1.Job, error) {
	return Job(job, name, jobstatus.Indexes(job).Failed)
}

// Unfinished returns the Job that runs all indexes that are not completed: those
// that failed, and those that had not been run when the Job ended.
func Unfinished(job *batchv1.Job, name string) (*batchv1.Job, error) {
	sets := jobstatus.Indexes(job)
	return Job(job, name, sets.Failed.Union(sets.Unfinished))
}

// Job returns the Job that runs the given indexes again. The Job that it is made
// of may itself be such a Job: the indexes are then those that the first one had.
func Job(job *batchv1.Job, name string, indexes indexset.Set) (*batchv1.Job, error) {
	if !jobstatus.OutcomeOf(job).Terminal() {
		return nil, fmt.Errorf("the Job %s has not ended, so there may be pods at work on its indexes", job.Name)
	}
	if indexes.IsEmpty() {
		return nil, fmt.Errorf("the Job %s has no such indexes", job.Name)
	}
	text, err := original(job, indexes)
	if err != nil {
		return nil, err
	}
	next := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: name, Annotations: map[string]string{Annotation: text}},
		Spec:       *job.Spec.DeepCopy(),
	}
	n := int32(indexes.Len())
	next.Spec.Completions = &n
	// What the API server has added to the first Job is not for the second.
	next.Spec.Selector, next.Spec.ManualSelector = nil, nil
	for _, label := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		delete(next.Spec.Template.Labels, label)
	}
	// These speak of the first Job's indexes, or are bounded by their number.
	next.Spec.SuccessPolicy = nil
	if most := next.Spec.MaxFailedIndexes; most != nil {
		*most = min(*most, n)
	}
	containers := next.Spec.Template.Spec.Containers
	for i := range containers {
		containers[i].Env = set(containers[i].Env, text)
	}
	return next, nil
}

// original returns which indexes of the first Job those of this one stand for.
func original(job *batchv1.Job, indexes indexset.Set) (string, error) {
	text, retried := job.Annotations[Annotation]
	if !retried {
		return indexes.String(), nil
	}
	first, err := indexset.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the annotation %s: %w", Annotation, err)
	}
	var out indexset.Builder
	i := int32(0)
	for index := range first.All() {
		if indexes.Contains(i) {
			out.Add(index)
		}
		i++
	}
	return out.Set().String(), nil
}

func set(env []corev1.EnvVar, text string) []corev1.EnvVar {
	for i := range env {
		if env[i].Name == Variable {
			env[i] = corev1.EnvVar{Name: Variable, Value: text}
			return env
		}
	}
	return append(env, corev1.EnvVar{Name: Variable, Value: text})
}
