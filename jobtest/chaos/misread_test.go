package chaos

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/cluster"
)

// misread are controllers that misread the input: when a Job ends, whether a pod has failed
// or succeeded, or which Job owns a pod.
var misread = []struct {
	name, property string
	controller     func() cluster.Controller
}{
	{"backoffLimit is read as 0", "S17", spec(func(s *batchv1.JobSpec) {
		if s.BackoffLimitPerIndex == nil {
			s.BackoffLimit = new(int32)
		}
	})},
	{"backoffLimit is never reached", "S17", spec(func(s *batchv1.JobSpec) { s.BackoffLimit = ptr[int32](1 << 30) })},
	{"completions are read as 1", "S17", spec(func(s *batchv1.JobSpec) {
		if s.Completions != nil && *s.Completions > 1 {
			s.Completions = ptr[int32](1)
		}
	})},
	{"completions are forgotten", "S5 S17", spec(func(s *batchv1.JobSpec) {
		if s.CompletionMode == nil || *s.CompletionMode == batchv1.NonIndexedCompletion {
			s.Completions = nil
		}
	})},
	{"the deadline is read as 1", "S17", spec(func(s *batchv1.JobSpec) {
		if s.ActiveDeadlineSeconds != nil {
			s.ActiveDeadlineSeconds = ptr[int64](1)
		}
	})},
	{"the deadline is ignored", "S17", spec(func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = nil })},
	{"the success policy is ignored", "S17", spec(func(s *batchv1.JobSpec) { s.SuccessPolicy = nil })},
	{"maxFailedIndexes is ignored", "S17", spec(func(s *batchv1.JobSpec) { s.MaxFailedIndexes = nil })},
	{"FailJob is read as Count", "S17", spec(func(s *batchv1.JobSpec) {
		if s.PodFailurePolicy == nil {
			return
		}
		for i := range s.PodFailurePolicy.Rules {
			if rule := &s.PodFailurePolicy.Rules[i]; rule.Action == batchv1.PodFailurePolicyActionFailJob {
				rule.Action = batchv1.PodFailurePolicyActionCount
			}
		}
	})},
	{"a failure is read as a success", "S1 S4", looking(changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodFailed {
			pod.Status.Phase = corev1.PodSucceeded
		}
	}))},
	{"a success is read as a failure", "S1", looking(changed(func(_ *batchv1.Job, pod *corev1.Pod) {
		if pod.Status.Phase == corev1.PodSucceeded {
			pod.Status.Phase = corev1.PodFailed
		}
	}))},
	{"failed indexes are forgotten", "S3", amended(func(s jobfate.Snapshot, d *jobfate.Decision) {
		if d.Status != nil && d.Status.FailedIndexes != nil && *d.Status.FailedIndexes != "" {
			status := d.Status.DeepCopy()
			status.FailedIndexes = new(string)
			if len(status.Conditions) == 0 && s.Job.Status.FailedIndexes != nil && *s.Job.Status.FailedIndexes != "" {
				d.Status = status
			}
		}
	})},
}

// The referee reports controllers that misread the spec, the phases of pods or their
// indexes.
func TestMisread(t *testing.T) {
	for _, bug := range misread {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range seedsFor(bug.name) {
				v := Run(Config{Seed: seed, Mode: Liveness, Controller: bug.controller, Retries: -1}).Violation
				if v != nil && slices.Contains(strings.Fields(bug.property), v.Property) {
					t.Logf("seed %d: %v", seed, v)
					return
				}
			}
			t.Error("no run finds it")
		})
	}
}
