package decide_test

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

func named(name string) *corev1.Pod {
	pod := podtest.Pod("uid-" + name)
	pod.Name = name
	return pod
}

func namesOf(t *decide.Tally) string {
	var names []string
	for _, pod := range t.Pods() {
		if pod != nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func expect(t *testing.T, what string, tally *decide.Tally, want string) {
	t.Helper()
	if got := namesOf(tally); got != want {
		t.Errorf("%s: pods %q, want %q", what, got, want)
	}
}

// activeOf has a Tally read its pods, and returns how many are active.
func activeOf(t *testing.T, tally *decide.Tally) int {
	t.Helper()
	job := podtest.Job()
	job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
	config := decide.DefaultConfig()
	o, err := tally.Decide(decide.Input{Job: job, Now: job.CreationTimestamp.Add(1)}, &config)
	if err != nil {
		t.Fatal(err)
	}
	return int(o.View.Census.Active)
}

// A pod that is fed replaces the pod of its name, both before and after the pods are read.
func TestTally_feed(t *testing.T) {
	var tally decide.Tally
	tally.List([]*corev1.Pod{named("a"), named("b")})
	tally.Feed("b", nil)
	tally.Feed("", named("c"))
	expect(t, "fed before a decision", &tally, "a c")
	clone := tally.Clone()
	clone.Feed("a", nil)
	if got := activeOf(t, &tally); got != 2 {
		t.Errorf("%d pods are active, want 2", got)
	}
	expect(t, "after a decision", &tally, "a c")
	if tally.Pod("uid-c") == nil || tally.Pod("uid-b") != nil {
		t.Error("after a decision: Pod does not find c, or still finds b")
	}
	expect(t, "a clone is independent", &clone, "c")
	tally.Feed("a", nil)
	expect(t, "fed after a decision", &tally, "c")
	if got := activeOf(t, &tally); got != 1 || tally.Pod("uid-a") != nil {
		t.Errorf("fed after a decision: %d pods are active, want 1; Pod must not find a", got)
	}
	tally.List([]*corev1.Pod{nil, named("d")})
	tally.Feed("e", named("e"))
	expect(t, "a list replaces what was fed", &tally, "d e")
}

// A policy or names that the caller changes between two decisions apply to all pods, also to those
// that the Tally knows already.
func TestTally_changedFailurePolicy(t *testing.T) {
	rules := func(action batchv1.PodFailurePolicyAction, name string) *failurepolicy.Spec {
		return &failurepolicy.Spec{Rules: []failurepolicy.Rule{{
			Name: name, Action: action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
		}}}
	}
	job := podtest.Job()
	job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
	job.Spec.PodFailurePolicy = rules(batchv1.PodFailurePolicyActionFailJob, "").ToAPI()
	failed := batchv1.Failed // whether pods that terminate have failed does not depend on the policy then
	job.Spec.PodReplacementPolicy = &failed
	for _, test := range []struct {
		reason        string
		before, after decide.Config
		first, second string // the reason why the Job fails; empty if it does not
	}{
		{"a policy in place of the Job's", decide.Config{},
			decide.Config{Options: tracking.Options{FailurePolicy: rules(batchv1.PodFailurePolicyActionIgnore, "")}}, "PodFailurePolicy", ""},
		{"another policy", decide.Config{Options: tracking.Options{FailurePolicy: rules(batchv1.PodFailurePolicyActionIgnore, "")}},
			decide.Config{Options: tracking.Options{FailurePolicy: rules(batchv1.PodFailurePolicyActionFailJob, "")}}, "", "PodFailurePolicy"},
		{"the same policy with other names", decide.Config{Granular: true, Options: tracking.Options{FailurePolicy: rules(batchv1.PodFailurePolicyActionFailJob, "Old")}},
			decide.Config{Granular: true, Options: tracking.Options{FailurePolicy: rules(batchv1.PodFailurePolicyActionFailJob, "New")}}, "PodFailurePolicy_Old", "PodFailurePolicy_New"},
		{"names of the Job's rules", decide.Config{Granular: true},
			decide.Config{Granular: true, Options: tracking.Options{RuleNames: []string{"New"}}}, "PodFailurePolicy_0", "PodFailurePolicy_New"},
		{"other names", decide.Config{Granular: true, Options: tracking.Options{RuleNames: []string{"Old"}}},
			decide.Config{Granular: true, Options: tracking.Options{RuleNames: []string{"New"}}}, "PodFailurePolicy_Old",
			"PodFailurePolicy_New"},
		{"no names", decide.Config{Granular: true, Options: tracking.Options{RuleNames: []string{"Old"}}}, decide.Config{Granular: true},
			"PodFailurePolicy_Old", "PodFailurePolicy_0"},
		{"no policy", decide.Config{}, decide.Config{Options: tracking.Options{WithoutPolicy: true}}, "PodFailurePolicy", ""},
	} {
		var tally decide.Tally
		tally.List([]*corev1.Pod{podtest.Pod("failed", podtest.Failed)})
		for sync, want := range []string{test.first, test.second} {
			config := decide.DefaultConfig()
			with := []decide.Config{test.before, test.after}[sync]
			config.Options, config.Granular = with.Options, with.Granular
			o, err := tally.Decide(decide.Input{Job: job, Now: podtest.Noon()}, &config)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Ending().Reason; got != want {
				t.Errorf("%s, decision %d: the Job fails with %q, want %q", test.reason, sync, got, want)
			}
		}
	}
}
