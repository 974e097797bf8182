// Package retryfailed creates a Job that reruns some indexes of an Indexed Job that has ended:
// the indexes that failed, or all that did not complete.
//
// The indexes of a Job begin at 0 and have no gaps, so the new Job has new indexes. An
// environment variable maps them to indexes of the first Job. It lists these in the format of the
// status, as in "3,7-9".
package retryfailed

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// Variable and Annotation are the names of the environment variable and of the annotation that
// list the indexes. A container whose JOB_COMPLETION_INDEX is i does the work of index number i in
// the list, counted from 0.
const (
	Variable   = "RETRIED_INDEXES"
	Annotation = "example.com/retried-indexes"
)

// Failed returns the Job that reruns the indexes that failed.
func Failed(job *batchv1.Job, name string) (*batchv1.Job, error) {
	return Job(job, name, jobstatus.Indexes(job).Failed)
}

// Unfinished returns the Job that runs all indexes that did not complete: those that failed, and
// those that had not finished when the Job ended.
func Unfinished(job *batchv1.Job, name string) (*batchv1.Job, error) {
	sets := jobstatus.Indexes(job)
	return Job(job, name, sets.Failed.Union(sets.Unfinished))
}

// Job returns the Job that reruns the given indexes of a Job. If that Job is itself a rerun, the
// new list contains indexes of the first Job.
func Job(job *batchv1.Job, name string, indexes indexset.Set) (*batchv1.Job, error) {
	if !jobstatus.OutcomeOf(job).Terminal() {
		return nil, fmt.Errorf("the Job %s has not ended, so pods may still be working on its indexes", job.Name)
	}
	if indexes.IsEmpty() {
		return nil, fmt.Errorf("the Job %s has no such indexes", job.Name)
	}
	text, err := original(job, indexes)
	if err != nil {
		return nil, err
	}
	next := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: name,
			Annotations: map[string]string{Annotation: text}},
		Spec: *job.Spec.DeepCopy(),
	}
	n := int32(indexes.Len())
	next.Spec.Completions = &n
	// The API server generated these for the first Job.
	next.Spec.Selector, next.Spec.ManualSelector = nil, nil
	for _, label := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		delete(next.Spec.Template.Labels, label)
	}
	// These fields refer to the indexes of the first Job, or are bounded by their number.
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

// original translates indexes of a Job into indexes of the first Job.
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
