package jobgroup

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/jobtest/live/kubelet"
)

// The schema rejects invalid groups before the controller observes them.
func TestServerRefusesGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()))
	rules := []any{"jobs", 0, "spec", "podFailurePolicy", "rules"}
	name := func(value string, rule int) func(map[string]any) { return set(value, append(rules, rule, "name")...) }
	reasons := func(all ...any) func(map[string]any) {
		return set(all, "failurePolicy", "rules", 0, "onJobFailureReasons")
	}
	for _, test := range []struct {
		change func(map[string]any)
		want   string
	}{
		{name("Exit Code", 0), "podFailurePolicy.rules[0].name"},
		{name(strings.Repeat("x", 112), 0), "podFailurePolicy.rules[0].name"},
		{name("ExitCode3", 0), "the names of the rules must be unique"},
		{reasons("PodFailurePolicy_"), "onJobFailureReasons[0]"},
		{reasons("BackoffLimit"), "onJobFailureReasons[0]"},
		{reasons(), "onJobFailureReasons"},
		{set("Restart", "failurePolicy", "rules", 0, "action"), "failurePolicy.rules[0].action"},
		{set(int64(-1), "failurePolicy", "maxRestarts"), "maxRestarts"},
		{set(int64(0), "jobs", 0, "replicas"), "replicas"},
		{set("Upper", "jobs", 0, "name"), "jobs[0].name"},
		{set([]any{}, "jobs"), "spec.jobs"},
	} {
		_, err := s.client.Create(t.Context(), sample(t, "restart-job", test.change), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want it rejected with %q", err, test.want)
		}
	}
	long := sample(t, "restart-job")
	long.SetName(strings.Repeat("x", 41))
	if _, err := s.client.Create(t.Context(), long, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a name of 41 characters: got %v, want it rejected", err)
	}
}

// The names of the Jobs are immutable; the number of restarts is not.
func TestServerRefusesChanges(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()))
	s.create("restart-job", set(int64(1), "jobs", 0, "replicas"))
	for _, test := range []struct {
		change func(map[string]any)
		want   string
	}{
		{set(int64(2), "jobs", 0, "replicas"), "the number of Jobs cannot change"},
		{set("others", "jobs", 0, "name"), "the names of the Jobs cannot change"},
		{set(int64(20), "failurePolicy", "maxRestarts"), ""},
	} {
		s.until("the change is answered", func() bool {
			group, err := s.client.Get(t.Context(), "restart-job", metav1.GetOptions{})
			s.must(err)
			test.change(group.Object["spec"].(map[string]any))
			_, err = s.client.Update(t.Context(), group, metav1.UpdateOptions{})
			if apierrors.IsConflict(err) {
				return false
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			return true
		})
	}
}

// The status reports errors that the schema cannot find: the controller finds them, or the API
// server when it creates a Job.
func TestStatusSaysWhyTheGroupCannotRun(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()))
	for _, test := range []struct {
		name, want string
		do         func(map[string]any)
	}{
		{name: "slip", want: "spec.failurePolicy.rules[0].onJobFailureReasons[0]: Not found",
			do: set([]any{"PodFailurePolicy_ExitCode4"}, "failurePolicy", "rules", 0, "onJobFailureReasons")},
		{name: "target", want: "spec.failurePolicy.rules[0].targetReplicatedJobs[0]: Not found",
			do: set([]any{"workers"}, "failurePolicy", "rules", 0, "targetReplicatedJobs")},
		{name: "index", want: "must not be the index of another rule",
			do: set("1", "jobs", 0, "spec", "podFailurePolicy", "rules", 0, "name")},
		{name: "no-container", want: "spec.template.spec.containers: Required value",
			do: set([]any{}, "jobs", 0, "spec", "template", "spec", "containers")},
	} {
		group := sample(t, "restart-job", test.do)
		group.SetName(test.name)
		s.status = status{}
		_, err := s.client.Create(t.Context(), group, metav1.CreateOptions{})
		s.must(err)
		s.untilPhase("Failed", 0)
		if !strings.Contains(s.status.Message, test.want) {
			t.Errorf("%s: got the message %q, want it to contain %q", test.name, s.status.Message, test.want)
		}
		if len(s.made) > 0 {
			t.Errorf("%s: got the Jobs %v, want none", test.name, s.made)
		}
	}
}
