package podtest

import (
	"math"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// DrawStatus draws a status with any of its fields set.
func DrawStatus(t *rapid.T, label string) *batchv1.JobStatus {
	some := func(what string) bool { return rapid.Bool().Draw(t, label+" has "+what) }
	st, full := &batchv1.JobStatus{}, reflect.ValueOf(FullStatus()).Elem()
	for i := range full.NumField() {
		if some(full.Type().Field(i).Name) {
			reflect.ValueOf(st).Elem().Field(i).Set(full.Field(i))
		}
	}
	if some("other conditions") {
		st.Conditions = DrawConditions(t)
	}
	if u := st.UncountedTerminatedPods; u != nil && some("no successes") {
		u.Succeeded = nil
	}
	if some("zeros") {
		st.Ready, st.FailedIndexes = new(int32(0)), new("")
	}
	return st
}

// DrawJob draws a Job that may contradict itself, with numbers at the ends of their ranges.
func DrawJob(t *rapid.T) *batchv1.Job {
	numbers := rapid.SampledFrom([]int32{math.MinInt32, -1, 0, 1, 2, 5, 7, 9, math.MaxInt32 - 1, math.MaxInt32})
	maybe := func(label string) *int32 {
		if rapid.Bool().Draw(t, label+" is set") {
			return new(numbers.Draw(t, label))
		}
		return nil
	}
	job := Stored()
	job.Generation = int64(rapid.IntRange(0, 2).Draw(t, "generation"))
	s, st := &job.Spec, &job.Status
	s.Parallelism, s.Completions, s.BackoffLimit = maybe("parallelism"), maybe("completions"), maybe("backoffLimit")
	s.BackoffLimitPerIndex, s.MaxFailedIndexes = maybe("backoffLimitPerIndex"), maybe("maxFailedIndexes")
	s.TTLSecondsAfterFinished = maybe("ttl")
	if OneIn(t, 5, "deleted") {
		job.DeletionTimestamp = new(After(0))
	}
	if rapid.Bool().Draw(t, "indexed") {
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	}
	if OneIn(t, 5, "rule") {
		codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}
		job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: codes}}}
	}
	if rapid.Bool().Draw(t, "success policy") {
		s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{
			{SucceededCount: maybe("count")},
			{SucceededIndexes: new("0-3,9"), SucceededCount: maybe("count of indexes")},
		}}
	}
	*st = *DrawStatus(t, "now")
	st.Conditions = DrawConditions(t)
	for i := range st.Conditions {
		since := rapid.SampledFrom([]metav1.Time{{}, After(0), After(5)})
		st.Conditions[i].LastTransitionTime = since.Draw(t, "since")
	}
	st.Active, st.Succeeded = numbers.Draw(t, "active"), numbers.Draw(t, "succeeded")
	st.Failed, st.Terminating = numbers.Draw(t, "failed"), maybe("terminating")
	_, completed := DrawIndexes(t, "completed")
	_, failed := DrawIndexes(t, "failed indexes")
	texts := []string{"", "1-2147483646", "x,3-1", completed.String(), completed.String(), completed.String()}
	st.CompletedIndexes = rapid.SampledFrom(texts).Draw(t, "completed text")
	st.FailedIndexes = new(rapid.SampledFrom([]string{"", failed.String(), failed.String()}).Draw(t, "failed text"))
	return job
}
