package decide_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/podtest"
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
