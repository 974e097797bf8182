package simulation

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ptr[T any](v T) *T { return &v }

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }

// indexed returns an Indexed Job.
func indexed(completions, parallelism int32, more ...func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, CompletionMode: ptr(batchv1.IndexedCompletion),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "image"}},
		}},
	}}
	for _, f := range more {
		f(&job.Spec)
	}
	return job
}

func perIndex(limit int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = &limit }
}

func nonIndexed(s *batchv1.JobSpec) { s.CompletionMode = ptr(batchv1.NonIndexedCompletion) }

// ignoreDisruptions ignores pods that are evicted, and fails the Job on 42.
func ignoreDisruptions(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
	}}
}

// drawn returns a result as lines, short enough for a table.
func drawn(r *Result) string {
	var b strings.Builder
	for _, lane := range r.Lanes {
		fmt.Fprintf(&b, "%d:", lane.Index)
		for _, p := range lane.Pods {
			from, to := "never", "open"
			if p.Started != nil {
				from = p.Started.String()
			}
			if p.Ended != nil {
				to = p.Ended.String()
			}
			fmt.Fprintf(&b, " %s-%s %s", from, to, p.Outcome)
			if p.Action != "" {
				fmt.Fprintf(&b, " (%s)", p.Action)
			}
		}
		for _, w := range lane.Waits {
			fmt.Fprintf(&b, " wait %s-%s", w.From, w.Until)
		}
		b.WriteString("\n")
	}
	for _, w := range r.Waits {
		fmt.Fprintf(&b, "wait %s-%s\n", w.From, w.Until)
	}
	fmt.Fprintf(&b, "%s %s at %s: %d pods, %s", r.End, r.Reason, r.Took, r.Totals.Pods, r.Totals.Running)
	return b.String()
}

// TestPlay syncs at once after each change, so that the times are easy to follow. TestBatches
// tests the batch period.
func TestPlay(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario string
		want     string
	}{
		{"all pods succeed", indexed(2, 1), "", `0: 1s-11s Succeeded
1: 12s-22s Succeeded
Complete CompletionsReached at 22s: 2 pods, 20s`},
		{"an index fails once, and is retried after a delay", indexed(2, 2, perIndex(1)), "pods: [{indexes: '1', exits: [1, 0], durations: [5s, 2s]}]", `0: 1s-11s Succeeded
1: 1s-6s Failed 17s-19s Succeeded wait 6s-16s
Complete CompletionsReached at 19s: 3 pods, 17s`},
		{"an index fails for good", indexed(2, 2, perIndex(0)), "pods: [{indexes: '1', exits: [1]}]", `0: 1s-11s Succeeded
1: 1s-11s Failed
Failed FailedIndexes at 11s: 2 pods, 20s`},
		{"a Job that is not Indexed backs off as a whole", indexed(2, 2, nonIndexed), "pods: [{exits: [1, 0]}]", `0: 1s-11s Failed 12s-22s Succeeded
1: 1s-11s Succeeded
Complete CompletionsReached at 22s: 3 pods, 30s`},
		{"the limit of the Job is passed", indexed(1, 1, nonIndexed, func(s *batchv1.JobSpec) { s.BackoffLimit = ptr(int32(1)) }), "pods: [{exits: [1]}]", `0: 1s-11s Failed 22s-32s Failed
wait 11s-21s
Failed BackoffLimitExceeded at 32s: 2 pods, 20s`},
		{"a rule fails the Job, and its other pods stop", indexed(2, 2, ignoreDisruptions), "pods: [{indexes: '0', exits: [42]}, {durations: [1h]}]", `0: 1s-11s Failed (FailJob)
1: 1s-12s Deleted
Failed PodFailurePolicy at 12s: 2 pods, 21s`},
		{"a pod evicts itself, and is not counted", indexed(1, 1, ignoreDisruptions, func(s *batchv1.JobSpec) { s.BackoffLimit = ptr(int32(0)) }),
			"pods: [{evict: true, chance: 0.5}]\nseed: 1", `0: 1s-12s Evicted (Ignore) 23s-34s Evicted (Ignore) 55s-1m5s Succeeded
wait 12s-22s
wait 34s-54s
Complete CompletionsReached at 1m5s: 3 pods, 32s`},
		{"a node is drained", indexed(2, 2, ignoreDisruptions), "events: [{at: 5s, evict: 1}]", `0: 1s-11s Succeeded
1: 1s-6s Evicted (Ignore) 12s-22s Succeeded
wait 6s-11s
Complete CompletionsReached at 22s: 3 pods, 25s`},
		{"all are evicted before they run", indexed(1, 1), "startDelay: 5s\nevents: [{at: 2s, evict: all}]", `0: never-2s Evicted 17s-27s Succeeded
wait 2s-12s
Complete CompletionsReached at 27s: 2 pods, 10s`},
		{"pods that wait for a node are not evicted", indexed(3, 3), "capacity: 1\nevents: [{at: 5s, evict: all}]", `0: 1s-6s Evicted 29s-39s Succeeded
1: 7s-17s Succeeded
2: 18s-28s Succeeded
wait 5s-15s
Complete CompletionsReached at 39s: 4 pods, 35s`},
		{"a pod that would back off is no longer needed", indexed(2, 2, perIndex(1)), "startDelay: 5s\nevents: [{at: 2s, parallelism: 0, evict: '0'}]", `0: never-2s Evicted
1: never-2s Deleted
Stalled  at 2s: 2 pods, 0s`},
		{"suspended and resumed", indexed(2, 2), "stopDelay: 3s\nevents: [{at: 4s, suspend: true}, {at: 20s, suspend: false}]", `0: 1s-7s Deleted 21s-31s Succeeded
1: 1s-7s Deleted 21s-31s Succeeded
Complete CompletionsReached at 31s: 4 pods, 32s`},
		{"suspended forever", indexed(1, 1), "events: [{at: 4s, suspend: true}]", `0: 1s-5s Deleted
Stalled  at 5s: 1 pods, 4s`},
		{"scaled", indexed(4, 1), "events: [{at: 4s, parallelism: 3}, {at: 6s, parallelism: 3, completions: 3}]", `0: 1s-11s Succeeded
1: 5s-15s Succeeded
2: 5s-15s Succeeded
Complete CompletionsReached at 15s: 3 pods, 30s`},
		{"out of time", indexed(1, 1), "limit: 7s", `0: 1s-open Unfinished
OutOfTime  at 7s: 1 pods, 6s`},
		{"restarted in place", indexed(1, 1, func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }),
			"pods: [{exits: [1, 1, 0], durations: [3s]}]", `0: 1s-20s Succeeded
Complete CompletionsReached at 20s: 1 pods, 19s`},
		{"a run of more than ten minutes ends the crash back-off", indexed(1, 1, func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }),
			"pods: [{exits: [1, 1, 1, 0], durations: [3s, 3s, 601s, 3s]}]", `0: 1s-10m21s Succeeded
Complete CompletionsReached at 10m21s: 1 pods, 10m20s`},
		{"a run of ten minutes does not", indexed(1, 1, func(s *batchv1.JobSpec) { s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }),
			"pods: [{exits: [1, 1, 1, 0], durations: [3s, 3s, 600s, 3s]}]", `0: 1s-10m40s Succeeded
Complete CompletionsReached at 10m40s: 1 pods, 10m39s`},
		{"restarted in place by a rule", indexed(1, 1, ruled(corev1.ContainerRestartRuleActionRestart)), "pods: [{exits: [42, 42, 0], durations: [3s]}]", `0: 1s-20s Succeeded
Complete CompletionsReached at 20s: 1 pods, 19s`},
		{"all containers restarted by a rule, without a backoff", indexed(1, 1, ruled(corev1.ContainerRestartRuleActionRestartAllContainers)), "pods: [{exits: [42, 42, 0], durations: [3s]}]", `0: 1s-12s Succeeded
Complete CompletionsReached at 12s: 1 pods, 11s`},
		{"restarted forever", indexed(1, 1, ruled(corev1.ContainerRestartRuleActionRestart)), "pods: [{exits: [42]}]\nlimit: 30m", `0: 1s-open Unfinished
OutOfTime  at 30m: 1 pods, 29m59s`},
		{"no rule matches", indexed(1, 1, ruled(corev1.ContainerRestartRuleActionRestart)), "pods: [{exits: [1, 0]}]", `0: 1s-11s Failed 22s-32s Succeeded
wait 11s-21s
Complete CompletionsReached at 32s: 2 pods, 20s`},
		{"the policy of the container decides", indexed(1, 1, func(s *batchv1.JobSpec) {
			s.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
			s.Template.Spec.Containers[0].RestartPolicy = ptr(corev1.ContainerRestartPolicyNever)
		}), "pods: [{exits: [1, 0]}]", `0: 1s-11s Failed 22s-32s Succeeded
wait 11s-21s
Complete CompletionsReached at 32s: 2 pods, 20s`},
		{"a deadline", indexed(1, 1, func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = ptr(int64(7)) }), "", `0: 1s-8s Deleted
Failed DeadlineExceeded at 8s: 1 pods, 7s`},
		{"random durations", indexed(2, 2), "pods: [{spread: 10s}]\nseed: 1", `0: 1s-16.983s Succeeded
1: 1s-18.194s Succeeded
Complete CompletionsReached at 18.194s: 2 pods, 33.177s`},
	} {
		t.Run(tc.reason, func(t *testing.T) { checkPlay(t, tc.job, "batchPeriod: 0s\n"+tc.scenario, tc.want) })
	}
}

// ruled returns a change of the spec: exit code 42 leads to an action.
func ruled(action corev1.ContainerRestartRuleAction) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) {
		c := &s.Template.Spec.Containers[0]
		c.RestartPolicy = ptr(corev1.ContainerRestartPolicyNever)
		c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{
			Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}}}}
	}
}

// checkPlay simulates a Job twice, and compares the results.
func checkPlay(t *testing.T, job *batchv1.Job, scenario, want string) *Result {
	t.Helper()
	s, err := ReadScenario([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	before := job.DeepCopy()
	got, err := Play(job, s, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, drawn(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, job); diff != "" {
		t.Errorf("the Job was changed:\n%s", diff)
	}
	again, err := Play(job, s, Settings{})
	if diff := cmp.Diff(got, again); err != nil || diff != "" {
		t.Errorf("the second time: got %v and\n%s\nwant the same", err, diff)
	}
	return got
}

// TestBatches checks when the controller syncs. Like the controller of Kubernetes it syncs one
// second after a change of a pod, unless a sync is due earlier, and at once after a change of
// the spec.
func TestBatches(t *testing.T) {
	for _, tc := range []struct {
		reason   string
		job      *batchv1.Job
		scenario string
		want     string
		syncs    int
	}{
		{"each change waits for more", indexed(2, 1), "", `0: 1s-11s Succeeded
1: 13s-23s Succeeded
Complete CompletionsReached at 24s: 2 pods, 20s`, 7},
		{"further changes join the batch and do not delay it", indexed(6, 3),
			"pods: [{indexes: '0', durations: [9600ms]}, {indexes: '1', durations: [9s]}, {indexes: '2', durations: [10200ms]}]", `0: 1s-10.6s Succeeded
1: 1s-10s Succeeded
2: 1s-11.2s Succeeded
3: 12s-22s Succeeded
4: 12s-22s Succeeded
5: 13s-23s Succeeded
Complete CompletionsReached at 23s: 6 pods, 58.8s`, 8},
		{"a new spec is observed at once", indexed(2, 1), "events: [{at: 3s, parallelism: 2}]", `0: 1s-11s Succeeded
1: 4s-14s Succeeded
Complete CompletionsReached at 15s: 2 pods, 20s`, 9},
		{"a failure is observed late, but its delay begins at the failure", indexed(1, 1, perIndex(1)), "pods: [{exits: [1, 0]}]", `0: 1s-11s Failed 22s-32s Succeeded wait 12s-21s
Complete CompletionsReached at 33s: 2 pods, 20s`, 9},
		{"a long period", indexed(2, 2), "batchPeriod: 10s", `0: 1s-11s Succeeded
1: 1s-11s Succeeded
Complete CompletionsReached at 20s: 2 pods, 20s`, 3},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s, err := ReadScenario([]byte(tc.scenario))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Play(tc.job, s, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, drawn(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Totals.Syncs != tc.syncs {
				t.Errorf("got %d syncs, want %d", got.Totals.Syncs, tc.syncs)
			}
		})
	}
}

// TestInterrupted interrupts simulations. The result holds everything up to then.
func TestInterrupted(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		proceed func(now Time, pods int) bool
		want    string
	}{
		{"at once", func(Time, int) bool { return false }, "Interrupted  at 0s: 0 pods, 0s"},
		{"while pods run", func(now Time, _ int) bool { return now < Time(13*time.Second) }, `0: 1s-11s Succeeded
1: 13s-open Unfinished
Interrupted  at 13s: 2 pods, 10s`},
		{"never", func(Time, int) bool { return true }, `0: 1s-11s Succeeded
1: 13s-23s Succeeded
Complete CompletionsReached at 24s: 2 pods, 20s`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, err := Play(indexed(2, 1), Scenario{}, Settings{Continue: tc.proceed})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, drawn(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSameRandomValues checks that corresponding pods of two Jobs get the same random values.
func TestSameRandomValues(t *testing.T) {
	s := Scenario{Seed: 7, Pods: []Behaviour{{Chance: ptr(0.5), Spread: metav1.Duration{Duration: time.Hour}}}}
	at := func(parallelism int32) (out []Time) {
		got, err := Play(indexed(5, parallelism), s, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, lane := range got.Lanes {
			out = append(out, *lane.Pods[0].Ended-*lane.Pods[0].Started)
		}
		return out
	}
	if diff := cmp.Diff(at(1), at(5)); diff != "" {
		t.Errorf("how long pods run, one at a time and all at once (-one +all):\n%s", diff)
	}
}

func TestReadScenario(t *testing.T) {
	for text, want := range map[string]string{
		"pod: []":                      `unknown field "pod"`,
		"startDelay: -1s":              "startDelay: -1s is negative",
		"batchPeriod: -1s":             "batchPeriod: -1s is negative",
		"pods: [{indexes: 3-1}]":       "pods[0].indexes: ",
		"pods: [{chance: 2}]":          "pods[0].chance: 2 is not between 0 and 1",
		"pods: [{startDelay: -1s}]":    "pods[0].startDelay: -1s is negative",
		"pods: [{spread: -1s}]":        "pods[0].spread: -1s is negative",
		"pods: [{durations: [-1s]}]":   "pods[0].durations[0]: -1s is negative",
		"pods: [{}, {exits: [0, -1]}]": "pods[1].exits[1]: -1 is not an exit code",
		"events: [{at: -1s}]":          "events[0].at: -1s is negative",
		"events: [{at: 1s}]":           "events[0]: the event does nothing",
		"events: [{evict: some}]":      "events[0].evict: ",
		"events: [{lose: some}]":       "events[0].lose: ",
		"events: [{forceDelete: 3-1}]": "events[0].forceDelete: ",
		"events: [{evict: 1.5}]":       `want indexes such as 3 or "0-1,7", or all`,
		"events: [{capacity: -1}]":     "events[0].capacity: -1 is negative",
		"capacity: -1":                 "capacity: -1 is negative",
		"limit: 87601h":                "limit: 87601h0m0s is longer than 10 years",
		"lostNodes: {toleration: -1s}": "lostNodes.toleration: -1s is negative",
		"pods: [{exits: [a]}]":         "want a whole number of at most 32 bits; got string",
		"pods: [{exits: 1}]":           "want a list; got number",
		"pods: [{durations: [5]}]":     "want a duration such as 30s; got number",
		"pods: [{evict: 1}]":           "want true or false; got number",
		"seed: -1":                     "want a whole number from 0; got number -1",
	} {
		if _, err := ReadScenario([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		} else if goName.MatchString(err.Error()) {
			t.Errorf("%s: got %v, which names a Go type", text, err)
		}
	}
}

var goName = regexp.MustCompile(`\bGo\b|json:|int32|uint64|float64|v1\.|simulation\.`)

func TestPlayRejects(t *testing.T) {
	negative := indexed(-1, 1)
	for _, tc := range []struct {
		job      *batchv1.Job
		scenario Scenario
		want     string
	}{
		{negative, Scenario{}, "spec.completions"},
		{indexed(1, 1), Scenario{Events: []Event{{}}}, "events[0]: the event does nothing"},
		{indexed(2, 1), Scenario{Events: []Event{{Completions: ptr(int32(5))}}}, "events[0]: spec.completions"},
		{indexed(2, 2), Scenario{Events: []Event{{Suspend: ptr(true)}, {Evict: "1-2"}}}, "events[1].evict: the Job has no index 2; its completions are 2"},
		{indexed(2, 2), Scenario{Events: []Event{{At: seconds(9), Lose: "1"}, {At: seconds(5), Completions: ptr(int32(1)), Parallelism: ptr(int32(1))}}},
			"events[0].lose: the Job has no index 1; its completions are 1"},
		{indexed(2, 2, nonIndexed), Scenario{Events: []Event{{At: seconds(5), ForceDelete: "2"}}}, "events[0].forceDelete: there is no pod 2 at 5s; 2 have been created"},
	} {
		if got, err := Play(tc.job, tc.scenario, Settings{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v and %v, want an error with %q", got, err, tc.want)
		}
	}
}

// TestUnstored simulates a Job as kubectl prints it, with everything that the API server generated.
func TestUnstored(t *testing.T) {
	job := indexed(1, 1)
	labels := map[string]string{batchv1.ControllerUidLabel: "x", "controller-uid": "x", "mine": "y"}
	job.Spec.Template.Labels = labels
	job.Name, job.UID, job.Status.Succeeded = "a", "x", 1
	got, err := Play(job, Scenario{}, Settings{RuleNames: []string{}})
	if err != nil || got.End != Complete || len(labels) != 3 {
		t.Errorf("got %v, %v and labels %v, want it to complete and all labels", got, err, labels)
	}
}

func TestTime(t *testing.T) {
	for _, tc := range []struct {
		d            time.Duration
		json, string string
	}{
		{0, "0", "0s"},
		{1500 * time.Millisecond, "1.5", "1.5s"},
		{time.Minute, "60", "1m"},
		{time.Hour, "3600", "1h"},
		{time.Hour + 10*time.Second, "3610", "1h0m10s"},
		{time.Second + 600*time.Microsecond, "1.0006", "1.001s"},
	} {
		got, err := Time(tc.d).MarshalJSON()
		if err != nil || string(got) != tc.json || Time(tc.d).String() != tc.string {
			t.Errorf("%s: got %s, %v and %s, want %s and %s", tc.d, got, err, Time(tc.d), tc.json, tc.string)
		}
	}
}
