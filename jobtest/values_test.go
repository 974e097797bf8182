package jobtest_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/group"
	"github.com/jobfate/jobfate/jobtest"
	"github.com/jobfate/jobfate/jobtest/effort"
	"github.com/jobfate/jobfate/validation"
)

// Each value has the property that its generator promises: canonical or damaged, failed, valid.
func TestValues(t *testing.T) {
	seen := map[string]int{}
	effort.Check(t, 50, func(t *rapid.T) {
		set := jobtest.Sets(20).Draw(t, "set")
		if last, ok := set.Max(); ok && last >= 20 {
			t.Fatalf("the set %v is not below 20", set)
		}
		text := jobtest.DamagedSets(20).Draw(t, "damaged")
		if _, damage := text.Set(20); damage == nil {
			t.Fatalf("%q is not damaged", text)
		}
		spec := jobtest.FailurePolicies().Draw(t, "policy")
		if errs := validation.RuleNames(spec, field.NewPath("policy")); len(errs) > 0 {
			t.Fatal(errs)
		}
		mode, job := batchv1.NonIndexedCompletion, &batchv1.JobSpec{PodFailurePolicy: spec.ToAPI()}
		job.CompletionMode, job.Template.Spec.RestartPolicy = &mode, "Never"
		if errs := validation.JobSpec(job, nil); len(errs) > 0 {
			t.Fatal(errs)
		}
		pod := jobtest.FailedPods().Draw(t, "pod")
		if backoff.FinishTime(pod).IsZero() && len(pod.Status.ContainerStatuses) > 0 {
			t.Fatalf("%+v has not finished", pod.Status)
		}
		match := spec.Match(pod)
		seen["matched "+string(match.Action)]++
		if _, err := backoff.Convert(jobtest.Drafts().Draw(t, "draft")); err != nil {
			t.Fatal(err)
		}
		members := []group.Member{{Name: "a-0", Template: "a"}, {Name: "b-0", Template: "b"}}
		if errs := jobtest.GroupPolicies().Draw(t, "group").Check(members, nil); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
	if len(seen) < 3 {
		t.Errorf("only %v", seen)
	}
}
