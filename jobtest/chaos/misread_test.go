package chaos

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/jobtest/bugs"
)

// misread are controllers that misread the input: when a Job ends, whether a pod has failed
// or succeeded, or which Job owns a pod.
var misread = []bug{
	{name: "backoffLimit is read as 0", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.BackoffLimitPerIndex == nil {
			s.BackoffLimit = new(int32)
		}
	})},
	{name: "backoffLimit is never reached", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.BackoffLimit = new(int32(1 << 30)) })},
	{name: "completions are read as 1", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.Completions != nil && *s.Completions > 1 {
			s.Completions = new(int32(1))
		}
	})},
	{name: "completions are forgotten", property: "S5 S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
			s.Completions = nil
		}
	})},
	{name: "restarts are read as ten times as many", property: "S17", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		for i := range pod.Status.ContainerStatuses {
			pod.Status.ContainerStatuses[i].RestartCount *= 10
		}
	}))},
	{name: "the deadline is read as 1", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) {
		if s.ActiveDeadlineSeconds != nil {
			s.ActiveDeadlineSeconds = new(int64(1))
		}
	})},
	{name: "the deadline is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = nil })},
	{name: "the success policy is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.SuccessPolicy = nil })},
	{name: "maxFailedIndexes is ignored", property: "S17", controller: bugs.Spec(func(s *batchv1.JobSpec) { s.MaxFailedIndexes = nil })},
	{name: "FailJob is read as Count", property: "S17", controller: bugs.Spec(bugs.CountFailJob)},
	{name: "a failure is read as a success", property: "S1 S4", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodFailed {
			pod.Status.Phase = corev1.PodSucceeded
		}
	}))},
	{name: "a success is read as a failure", property: "S1", controller: bugs.Looking(bugs.Changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodSucceeded {
			pod.Status.Phase = corev1.PodFailed
		}
	}))},
	{name: "failed indexes are forgotten", property: "S3", controller: bugs.Amended(func(s decide.Snapshot, d *decide.Decision) {
		if d.Status != nil && d.Status.FailedIndexes != nil && *d.Status.FailedIndexes != "" {
			status := d.Status.DeepCopy()
			status.FailedIndexes = new(string)
			if len(status.Conditions) == 0 && s.Job.Status.FailedIndexes != nil && *s.Job.Status.FailedIndexes != "" {
				d.Status = status
			}
		}
	})},
}
