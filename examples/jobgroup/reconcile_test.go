package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/jobfate/jobfate/internal/podtest"
)

func readSample(t *testing.T, name string) *JobGroup {
	t.Helper()
	return program.Manifests(t)["JobGroup "+name].(*JobGroup)
}

// newJob copies the rules to the Job, and their names to the annotation.
func TestNewJob(t *testing.T) {
	group := readSample(t, "restart-job")
	job := group.newJob(group.members()[3], 7)
	for what, pair := range map[string][2]string{
		"name":    {job.Name, "restart-job-simulations-3"},
		"manager": {*job.Spec.ManagedBy, "jobfate.dev/jobgroup"},
		"names":   {job.Annotations["jobfate.dev/failure-rule-names"], `{"0":"ExitCode2","1":"ExitCode3"}`},
		"attempt": {job.Annotations[attemptAnnotation], "7"},
		"group":   {job.Labels[groupLabel], "restart-job"},
		"owner":   {metav1.GetControllerOf(job).Kind, "JobGroup"},
	} {
		Same(t, what, pair[0], pair[1])
	}
	if got := job.Spec.PodFailurePolicy; got == nil || len(got.Rules) != 2 || got.Rules[1].OnExitCodes.Values[0] != 3 {
		t.Errorf("the rules: got %v", got)
	}
}
