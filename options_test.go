package jobfate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/decidetest"
	"github.com/jobfate/jobfate/jobtest"
)

// Every option is used somewhere: Throttle in algorithm_test.go, Backoff,
// BatchPeriod and matchers in lessons_asks_test.go, ManagedBy in input_test.go,
// FillFreeSlots in story_blog_test.go, and RuleNames and WithoutPerIndexBackoff in
// testdata/scenarios. The rest is here.

// A caller whose Jobs are objects of a kind of its own.
func TestOptions_ownerKind(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Simulation"}
	w := newWorld(t, "completions: 1", jobfate.OwnerKind(kind))
	w.rules.Owner = kind.GroupKind()
	w.settle()
	if ref := w.Pods()[0].OwnerReferences[0]; ref.APIVersion != "example.com/v1" || ref.Kind != "Simulation" || ref.UID != w.Job().UID {
		t.Errorf("the pod's owner is %+v", ref)
	}
	w.End("pod-1", 0)
	w.settle()
	if w.Job().Status.Succeeded != 1 {
		t.Errorf("%d succeeded, want 1", w.Job().Status.Succeeded)
	}
}

// Typed clients and caches leave the kind of an object empty. Were it taken for the
// default, the pods would be owned by a Job that does not exist, and be collected.
func TestOptions_noOwnerKind(t *testing.T) {
	w := newWorld(t, "completions: 1")
	for _, kind := range []schema.GroupVersionKind{{}, {Group: "example.com", Version: "v1"}} {
		d, err := decidetest.Decide(w.snapshot(), jobfate.OwnerKind(kind))
		if err == nil || !strings.Contains(err.Error(), "OwnerKind.kind") || !d.Idle() {
			t.Errorf("%v: got %v and %v, want an error that names OwnerKind.kind", kind, d, err)
		}
	}
}

// How many UIDs the lists may hold, and how many pods are created, or deleted
// because they are too many, at a time.
func TestOptions_caps(t *testing.T) {
	for _, test := range []struct {
		uncounted, changes           int
		wantUncounted, wantedChanges int
	}{{3, 2, 3, 2}, {0, 0, 12, 12}, {-1, -1, 12, 12}, {1, 100, 1, 12}} {
		w := newWorld(t, "completions: 12\nparallelism: 12", jobfate.MaxUncounted(test.uncounted), jobfate.MaxChanges(test.changes))
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Create) != test.wantedChanges {
			t.Errorf("%+v: %d to create", test, len(d.Create))
		}
		w.runAll()
		w.edit("parallelism: 0")
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Delete) != test.wantedChanges {
			t.Errorf("%+v: %d to delete", test, len(d.Delete))
		}
		// A suspended Job loses all its pods at once, as in the Job controller.
		w.edit("suspend: true")
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Delete) != 12 {
			t.Errorf("%+v: %d to delete for suspension, want 12", test, len(d.Delete))
		}
		for _, pod := range w.alive() {
			w.End(pod.UID, 0)
		}
		if d := mustDecide(t, w.snapshot(), w.opts...); len(d.Status.UncountedTerminatedPods.Succeeded) != test.wantUncounted || len(d.Strip) != test.wantUncounted {
			t.Errorf("%+v: %d recorded, %d to strip", test, len(d.Status.UncountedTerminatedPods.Succeeded), len(d.Strip))
		}
	}
}

// Without the replacement policy a Job that asks for Failed gets a replacement
// for a terminating pod, and does not report terminating pods.
func TestOptions_withoutReplacementPolicy(t *testing.T) {
	for _, test := range []struct {
		opts        []jobfate.Option
		failed      int32
		terminating string
		reason      string
	}{
		{nil, 0, "1", `job_pods_creation_total{reason="new",status="succeeded"} 2`},
		{[]jobfate.Option{jobfate.WithoutReplacementPolicy()}, 1, "none", `job_pods_creation_total{reason="new",status="succeeded"} 3`},
	} {
		w := newWorld(t, "completions: 2\nparallelism: 2\npodReplacementPolicy: Failed", test.opts...)
		w.rules = nil // the referee knows nothing of a policy that is switched off
		w.runAll()
		w.Delete("pod-1", 30)
		w.settle()
		if !w.look.IsZero() {
			w.wait()
		}
		if got := statusFields(&w.Job().Status); w.Job().Status.Failed != test.failed || got[4] != [2]string{"terminating", test.terminating} {
			t.Errorf("%d options: %d failed, %v; want %d, %s", len(test.opts), w.Job().Status.Failed, got[4], test.failed, test.terminating)
		}
		if !slices.Contains(w.counted(), test.reason) {
			t.Errorf("%d options: %v, want %s", len(test.opts), w.counted(), test.reason)
		}
		// The end waits for terminating pods all the same.
		for _, pod := range w.alive() {
			if pod.DeletionTimestamp == nil {
				w.End(pod.UID, 0)
			}
		}
		w.settle()
		if w.Job().Status.CompletionTime != nil {
			t.Errorf("%d options: complete with a pod that terminates", len(test.opts))
		}
	}
}

// The failure policy of an option takes the place of the Job's own. With one, only
// failed pods are replaced.
func TestOptions_withFailurePolicy(t *testing.T) {
	spec := "completions: 1\npodFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [1]}}]}"
	named := &failurepolicy.Spec{Rules: []failurepolicy.Rule{
		{}, {Name: "One", Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
		}},
	}}
	for _, test := range []struct {
		opts []jobfate.Option
		want string
	}{
		{nil, "PodFailurePolicy"},
		{[]jobfate.Option{jobfate.GranularReasons()}, "PodFailurePolicy_0"},
		{[]jobfate.Option{jobfate.RuleNames("Mine")}, "PodFailurePolicy_Mine"},
		{[]jobfate.Option{jobfate.RuleNames()}, "PodFailurePolicy_0"},
		{[]jobfate.Option{jobfate.RuleNames("", "more", "than", "rules")}, "PodFailurePolicy_0"},
		{[]jobfate.Option{jobfate.FailurePolicy(named)}, "PodFailurePolicy"},
		{[]jobfate.Option{jobfate.FailurePolicy(named), jobfate.GranularReasons()}, "PodFailurePolicy_One"},
		{[]jobfate.Option{jobfate.FailurePolicy(named), jobfate.RuleNames("Ignored")}, "PodFailurePolicy_One"},
		{[]jobfate.Option{jobfate.FailurePolicy(&failurepolicy.Spec{})}, ""},
		{[]jobfate.Option{jobfate.FailurePolicy(nil)}, "PodFailurePolicy"},
	} {
		job := specJob(t, spec)
		d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{podIn(job, 1, corev1.PodFailed)}, Now: job.CreationTimestamp.Time}, test.opts...)
		got := ""
		if len(d.Status.Conditions) > 0 {
			got = d.Status.Conditions[0].Reason
		}
		if got != test.want {
			t.Errorf("%d options: the reason is %q, want %q", len(test.opts), got, test.want)
		}
	}
	job := specJob(t, "completions: 1")
	pod := podIn(job, 1, corev1.PodRunning)
	pod.DeletionTimestamp = &job.CreationTimestamp
	d := mustDecide(t, jobfate.Snapshot{Job: job, Pods: []*corev1.Pod{pod}, Now: job.CreationTimestamp.Time}, jobfate.FailurePolicy(named))
	if explain.Of(d).Job().Code != explain.JobAwaitingTermination {
		t.Errorf("a terminating pod with a policy: %s, want %s", explain.Of(d).Job().Code, explain.JobAwaitingTermination)
	}
}

// Later options win, and options do not touch each other.
func TestOptions_order(t *testing.T) {
	job := specJob(t, "completions: 9\nparallelism: 9")
	for _, caps := range [][]int{{1, 4}, {4, 1}} {
		var opts []jobfate.Option
		for _, n := range caps {
			opts = append(opts, jobfate.MaxChanges(n))
		}
		if d := mustDecide(t, jobfate.Snapshot{Job: job, Now: jobtest.Noon()}, opts...); len(d.Create) != caps[1] {
			t.Errorf("%v: %d to create", fmt.Sprint(caps), len(d.Create))
		}
	}
	// A value below 1 leaves what an earlier option has said.
	var done []*corev1.Pod
	for n := range 9 {
		done = append(done, podIn(job, n+1, corev1.PodSucceeded))
	}
	s := jobfate.Snapshot{Job: job, Pods: done, Now: job.CreationTimestamp.Time}
	if d := mustDecide(t, s, jobfate.MaxUncounted(3), jobfate.MaxChanges(5), jobfate.MaxUncounted(-1)); len(d.Strip) != 3 {
		t.Errorf("%d to strip, want 3", len(d.Strip))
	}
}

// While the last status write is not observed, the batch period says when to look
// again.
func TestOptions_batchPeriodOfAnUnobservedStatus(t *testing.T) {
	job := specJob(t, "completions: 1")
	s := decide.Input{Job: job, Now: job.CreationTimestamp.Time, InFlight: decide.InFlight{Status: true}}
	for _, test := range []struct {
		opts []jobfate.Option
		want time.Duration
	}{{nil, time.Second}, {[]jobfate.Option{jobfate.BatchPeriod(7 * time.Second)}, 7 * time.Second}} {
		if d := mustDecide(t, s, test.opts...); d.Requeue != test.want || !d.Idle() {
			t.Errorf("%d options: look again in %s, idle %t; want %s and nothing else", len(test.opts), d.Requeue, d.Idle(), test.want)
		}
	}
}
