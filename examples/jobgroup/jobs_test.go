package main

import (
	"bytes"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func readSample(t *testing.T, name string) *JobGroup {
	t.Helper()
	text, err := os.ReadFile("deploy/samples/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	group := &JobGroup{}
	if err := yaml.UnmarshalStrict(text, group); err != nil {
		t.Fatal(err)
	}
	return group
}

// newJob copies the rules to the Job, and their names to the annotation.
func TestNewJob(t *testing.T) {
	group := readSample(t, "restart-job")
	group.Status.Restarted = map[string]int{"restart-job-simulations-3": 7}
	job := newJob(group, group.members()[3])
	for what, pair := range map[string][2]string{
		"name":    {job.Name, "restart-job-simulations-3"},
		"manager": {*job.Spec.ManagedBy, "jobfate.dev/jobgroup"},
		"names":   {job.Annotations[namesAnnotation], `{"0":"ExitCode2","1":"ExitCode3"}`},
		"restart": {job.Annotations[restartAnnotation], "7"},
		"group":   {job.Labels[groupLabel], "restart-job"},
		"owner":   {metav1.GetControllerOf(job).Kind, "JobGroup"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %s, want %s", what, pair[0], pair[1])
		}
	}
	if got := job.Spec.PodFailurePolicy; got == nil || len(got.Rules) != 2 || got.Rules[1].OnExitCodes.Values[0] != 3 {
		t.Errorf("the rules: got %v, want those of the group", got)
	}
	if got := madeAt(job); got != 7 {
		t.Errorf("made at restart %d, want 7", got)
	}
}

// Without names the annotation still requests granular reasons. Without rules there is no
// annotation.
func TestRulesWithoutNames(t *testing.T) {
	group := newGroup(1, 0)
	rules := group.Spec.Jobs[0].Spec.PodFailurePolicy.Rules
	rules[0].Name, rules[1].Name = "", ""
	if got := newJob(group, group.members()[0]).Annotations[namesAnnotation]; got != "{}" {
		t.Errorf("got the names %s, want {}", got)
	}
	group.Spec.Jobs[0].Spec.PodFailurePolicy = nil
	job := newJob(group, group.members()[0])
	if _, ok := job.Annotations[namesAnnotation]; ok || job.Spec.PodFailurePolicy != nil {
		t.Error("got names or rules of no policy")
	}
}

// A copy of a group shares no mutable fields with the original.
func TestDeepCopy(t *testing.T) {
	group := readSample(t, "fail-group")
	group.Status.Restarted = map[string]int{"j": 1}
	list := &JobGroupList{Items: []JobGroup{*group}}
	before, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	c := &list.DeepCopyObject().(*JobGroupList).Items[0]
	c.Labels = map[string]string{"a": "b"}
	c.Spec.Jobs[0].Name = "other"
	*c.Spec.Jobs[0].Spec.BackoffLimit = 7
	c.Status.Restarted["j"] = 2
	if after, err := yaml.Marshal(list); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the copy changes the original:\n%s\nwas\n%s (%v)", after, before, err)
	}
}
