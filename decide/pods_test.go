package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	. "github.com/jobfate/jobfate/internal/podtest"
)

func podNamed(name string) *corev1.Pod {
	pod := Pod("uid-" + name)
	pod.Name = name
	return pod
}

func expect(t *testing.T, what string, tally *Pods, want string) {
	t.Helper()
	var names []string
	for _, pod := range tally.List() {
		if pod != nil {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	Same(t, what+": pods", strings.Join(names, " "), want)
}

// decideOn decides on the pods of the Tally, as those of the Job of package podtest.
func decideOn(tally *Pods) (Decision, error) {
	job := NewJob()
	job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
	return tally.decide(Snapshot{Job: job, Now: Noon()}, defaults)
}

// activeOf has a Tally read its pods, and returns how many are active.
func activeOf(t *testing.T, tally *Pods) int {
	t.Helper()
	o := Must(decideOn(tally))
	return int(o.made.state.census.Active)
}

// A pod that is fed replaces the pod of its name, both before and after the pods are read.
func TestTally_feed(t *testing.T) {
	var tally Pods
	tally.Replace([]*corev1.Pod{podNamed("a"), podNamed("b")})
	tally.Feed("b", nil)
	tally.Feed("x", podNamed("d")) // the name of the pod counts
	tally.Feed("d", nil)
	tally.Feed("", podNamed("c"))
	expect(t, "fed before a decision", &tally, "a c")
	clone := tally.Clone()
	clone.Feed("a", nil)
	Same(t, "active pods", activeOf(t, &tally), 2)
	expect(t, "after a decision", &tally, "a c")
	Same(t, "after a decision: finds c and b", []bool{tally.Get("uid-c") != nil, tally.Get("uid-b") != nil}, []bool{true, false})
	expect(t, "a clone is independent", &clone, "c")
	tally.Feed("a", nil)
	expect(t, "fed after a decision", &tally, "c")
	Same(t, "active pods, fed after a decision", activeOf(t, &tally), 1)
	Same(t, "a", tally.Get("uid-a"), nil)
	tally.Feed("", podNamed("f"))
	tally.Replace([]*corev1.Pod{nil, podNamed("d")})
	tally.Feed("e", podNamed("e"))
	expect(t, "a list replaces what was fed", &tally, "d e")
}

// A list belongs to the caller: pods that are fed later leave it as it is.
func TestTally_listOfTheCaller(t *testing.T) {
	a, b := podNamed("a"), podNamed("b")
	list := []*corev1.Pod{a, b}
	for _, feed := range []*corev1.Pod{nil, podNamed("a")} {
		var tally Pods
		tally.Replace(list)
		tally.Feed("a", feed)
		tally.List()
		activeOf(t, &tally)
		Same(t, "the list", list, []*corev1.Pod{a, b})
	}
}

// What one of two clones is fed and reads is not that of the other one, whichever goes first.
func TestTally_clones(t *testing.T) {
	for _, read := range []bool{false, true} {
		for _, cloneFirst := range []bool{false, true} {
			var tally Pods
			tally.Replace([]*corev1.Pod{podNamed("a"), podNamed("b")})
			if read {
				activeOf(t, &tally)
			}
			tally.Feed("", podNamed("c"))
			tally.Feed("", podNamed("c")) // of four changes that there is room for, the third
			tally.Feed("", podNamed("c"))
			clone := tally.Clone()
			change := []func(){func() { tally.Feed("", podNamed("d")) }, func() { clone.Feed("a", nil) }}
			if cloneFirst {
				slices.Reverse(change)
			}
			for _, f := range change {
				f()
			}
			what := fmt.Sprintf("read %t, the clone first %t", read, cloneFirst)
			Same(t, what+": active pods of the clone", activeOf(t, &clone), 2)
			Same(t, what+": active pods", activeOf(t, &tally), 4)
			expect(t, what+", the clone", &clone, "b c")
			expect(t, what, &tally, "a b c d")
		}
	}
}

// Invalid pods are an error, also in a list that follows another, and change nothing.
func TestTally_invalidList(t *testing.T) {
	var tally Pods
	a, b := podNamed("a"), podNamed("b")
	tally.Replace([]*corev1.Pod{a, b})
	Same(t, "active pods", activeOf(t, &tally), 2)
	for _, pods := range [][]*corev1.Pod{{a, b, nil}, {a, b, a}} {
		tally.Replace(pods)
		var input *InputError
		if _, err := decideOn(&tally); !errors.As(err, &input) {
			t.Errorf("%v: got the error %v, want an InputError", pods, err)
		}
	}
}

// The text that a decision asks to store is known when the status shows it, as is the text that was
// read last.
func TestIndexTexts(t *testing.T) {
	var known indexTexts
	known.write("0-2", 5, indexset.Range(0, 2))
	written := known.written
	Same(t, "the text that was written is not parsed again", known.parse("0-2", 5) == written, true)
	known.write("0-3", 5, indexset.Range(0, 3))
	Same(t, "the text that was read last is not parsed again", known.parse("0-2", 5) == written, true)
	if got := known.parse("0-2", 2); got == written || got.damage == nil {
		t.Errorf("with fewer completions: got %+v, want another set, with damage", got)
	}
	if got := known.parse("", 5); got != nil || known.read != nil {
		t.Errorf("no text: got %+v, want nothing", got)
	}
	known.write("", 5, indexset.Set{})
	Same(t, "what is kept of no text", known.written, nil)
}

// What a decision has added to the completed and failed indexes is known when the status shows it.
func TestTally_knowsWhatItHasWritten(t *testing.T) {
	s := newScene(t, "parallelism: 2\ncompletions: 3\nbackoffLimitPerIndex: 0"+indexed)
	s.pod("a", 1, corev1.PodSucceeded, 0)
	s.pod("b", 2, corev1.PodFailed, 0)
	var c Pods
	c.Replace(s.Pods)
	d := Must(c.decide(s.Snapshot, &s.config))
	Same(t, "completed, failed", []string{d.Status.CompletedIndexes, *d.Status.FailedIndexes}, []string{"0", "1"})
	completed, failed := c.completed.written, c.failed.written
	s.Job.Status = *d.Status
	if _, err := c.decide(s.Snapshot, &s.config); err != nil || completed == nil || c.completed.read != completed ||
		failed == nil || c.failed.read != c.failed.written || !c.failed.read.set.Equal(failed.set) || c.failed.read.apart != completed {
		t.Errorf("error %v; read %+v and %+v, want what was written: %+v and %+v", err, c.completed.read, c.failed.read, completed, failed)
	}
}

// The index texts in the status of a Job without indexes are neither read nor written. Shrunk by
// TestSync_isLikeDecide.
func TestTally_textsOfAJobWithoutIndexes(t *testing.T) {
	s := newScene(t, "completions: 0")
	s.Job.Status.CompletedIndexes = "1,0"
	var c Pods
	Same(t, "repairs", Must(c.decide(s.Snapshot, &s.config)).Facts().Repairs.Status, nil)
	with := newScene(t, "completions: 0"+indexed)
	with.Job.Status.CompletedIndexes = "1,0"
	d := Must(c.decide(with.Snapshot, &with.config))
	Same(t, "the repaired indexes", d.Status.CompletedIndexes, "")
	Same(t, "repairs of the Indexed Job", len(d.Facts().Repairs.Status), 1)
}

// The names are those at the time of the option.
func TestRuleNames_areCopied(t *testing.T) {
	names := []string{"A"}
	option := RuleNames(names...)
	names[0] = "B"
	Same(t, "names", configure([]Option{option}).RuleNames, []string{"A"})
}

// A policy or names that the caller changes between two decisions apply to all pods, also to those
// already in the Tally.
func TestTally_changedFailurePolicy(t *testing.T) {
	rules := func(action batchv1.PodFailurePolicyAction, name string) *failurepolicy.Spec {
		return &failurepolicy.Spec{Rules: []failurepolicy.Rule{{
			Name: name, Action: action,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1}},
		}}}
	}
	job := NewJob()
	job.Spec.Template.Labels = job.Spec.Selector.MatchLabels
	job.Spec.PodFailurePolicy = rules(batchv1.PodFailurePolicyActionFailJob, "").ToAPI()
	// whether pods that terminate have failed does not depend on the policy then
	job.Spec.PodReplacementPolicy = new(batchv1.Failed)
	ignore, fail := rules(batchv1.PodFailurePolicyActionIgnore, ""), rules(batchv1.PodFailurePolicyActionFailJob, "")
	named := func(name string) []Option {
		return []Option{FailurePolicy(rules(batchv1.PodFailurePolicyActionFailJob, name)), GranularReasons()}
	}
	for _, test := range []struct {
		reason        string
		before, after []Option
		first, second string // the reason why the Job fails; empty if it does not
	}{
		{"a policy in place of the Job's", nil, []Option{FailurePolicy(ignore)}, "PodFailurePolicy", ""},
		{"another policy", []Option{FailurePolicy(ignore)}, []Option{FailurePolicy(fail)}, "", "PodFailurePolicy"},
		{"the same policy with other names", named("Old"), named("New"), "PodFailurePolicy_Old", "PodFailurePolicy_New"},
		{"names of the Job's rules", []Option{GranularReasons()}, []Option{RuleNames("New")}, "PodFailurePolicy_0", "PodFailurePolicy_New"},
		{"other names", []Option{RuleNames("Old")}, []Option{RuleNames("New")}, "PodFailurePolicy_Old", "PodFailurePolicy_New"},
		{"no names", []Option{RuleNames("Old")}, []Option{GranularReasons()}, "PodFailurePolicy_Old", "PodFailurePolicy_0"},
		{"no policy", nil, []Option{WithoutFailurePolicy()}, "PodFailurePolicy", ""},
	} {
		var tally Pods
		tally.Replace([]*corev1.Pod{Pod("failed", Failed)})
		for sync, want := range []string{test.first, test.second} {
			o := Must(tally.decide(Snapshot{Job: job, Now: Noon()}, configure([][]Option{test.before, test.after}[sync])))
			Same(t, fmt.Sprintf("%s, decision %d: the Job fails with", test.reason, sync), o.made.ending().Reason, want)
		}
	}
}
