package kinds

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
)

// The schema rejects invalid groups before the controller observes them.
func TestServerRefusesGroups(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	name := func(value string) func(map[string]any) {
		return set(value, "jobs", 0, "podFailurePolicy", "rules", 0, "name")
	}
	for _, test := range []struct {
		change func(map[string]any)
		want   string
	}{
		{name("Exit Code"), "podFailurePolicy.rules[0].name"},
		{name(strings.Repeat("x", 112)), "podFailurePolicy.rules[0].name"},
		{set("Restart", "failurePolicy", "rules", 0, "steps", 0, "action"), "failurePolicy.rules[0].steps[0].action"},
		{set([]any{map[string]any{"name": "x"}}, "failurePolicy", "budgets"), "failurePolicy.budgets[0].max"},
		{set(int64(-1), "failurePolicy", "budgets", 0, "max"), "failurePolicy.budgets[0].max"},
		{set("Pod", "failurePolicy", "budgets", 0, "per"), "failurePolicy.budgets[0].per"},
		{set("soon", "failurePolicy", "budgets", 0, "window"), "failurePolicy.budgets[0].window"},
		{set(map[string]any{"base": "99999999h"}, "failurePolicy", "rules", 1, "steps", 0, "backoff"), "steps[0].backoff.base"},
		{set(int64(0), "jobs", 0, "replicas"), "replicas"},
		{set("Upper", "jobs", 0, "name"), "jobs[0].name"},
		{set([]any{}, "jobs"), "spec.jobs"},
	} {
		_, err := s.Objects.Create(t.Context(), sample(t, "restart-job", test.change), metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want it rejected with %q", err, test.want)
		}
	}
	long := sample(t, "restart-job")
	long.SetName(strings.Repeat("x", 41))
	if _, err := s.Objects.Create(t.Context(), long, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a name of 41 characters: got %v, want it rejected", err)
	}
}

// The names of the Jobs are immutable; the number of restarts is not.
func TestServerRefusesChanges(t *testing.T) {
	t.Parallel()
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	s.create("restart-job", set(int64(1), "jobs", 0, "replicas"))
	for _, test := range []struct {
		change func(map[string]any)
		want   string
	}{
		{set(int64(2), "jobs", 0, "replicas"), "the number of Jobs cannot change"},
		{set("others", "jobs", 0, "name"), "the names of the Jobs cannot change"},
		{set(int64(20), "failurePolicy", "budgets", 0, "max"), ""},
	} {
		s.Until("the change is answered", func() bool {
			group, err := s.Objects.Get(t.Context(), "restart-job", metav1.GetOptions{})
			s.Must(err)
			test.change(group.Object["spec"].(map[string]any))
			_, err = s.Objects.Update(t.Context(), group, metav1.UpdateOptions{})
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
	s := newStage(t, kubelet.Always(kubelet.Run()), server.Options{})
	for _, test := range []struct {
		name, want string
		do         func(map[string]any)
	}{
		{name: "target", want: "spec.failurePolicy.rules[0].templates[0]: Not found",
			do: set([]any{"workers"}, "failurePolicy", "rules", 0, "templates")},
		{name: "pattern", want: "error parsing regexp",
			do: set([]any{"("}, "failurePolicy", "rules", 0, "onMessagePatterns")},
		{name: "unknown-budget", want: "spec.failurePolicy.rules[0].steps[0].charges[0]: Not found",
			do: set([]any{"other"}, "failurePolicy", "rules", 0, "steps", 0, "charges")},
		{name: "duplicate", want: "Duplicate value",
			do: set("ExitCode3", "jobs", 0, "podFailurePolicy", "rules", 0, "name")},
		{name: "index", want: "must not be the index of another rule",
			do: set("1", "jobs", 0, "podFailurePolicy", "rules", 0, "name")},
		{name: "no-container", want: "spec.template.spec.containers: Required value",
			do: set([]any{}, "jobs", 0, "spec", "template", "spec", "containers")},
	} {
		group := sample(t, "restart-job", test.do)
		group.SetName(test.name)
		s.status = status{}
		_, err := s.Objects.Create(t.Context(), group, metav1.CreateOptions{})
		s.Must(err)
		s.untilPhase("Failed", 0)
		if !strings.Contains(s.status.Message, test.want) {
			t.Errorf("%s: got the message %q, want it to contain %q", test.name, s.status.Message, test.want)
		}
		if len(s.Made) > 0 {
			t.Errorf("%s: got the Jobs %v, want none", test.name, s.Made)
		}
	}
}
