package simulation

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/jobfate/jobfate/internal/podtest"
)

func seconds(n int) metav1.Duration { return metav1.Duration{Duration: time.Duration(n) * time.Second} }

// indexed returns an Indexed Job.
func indexed(completions, parallelism int32, more ...func(*batchv1.JobSpec)) *batchv1.Job {
	job := &batchv1.Job{Spec: batchv1.JobSpec{
		Completions: &completions, Parallelism: &parallelism, CompletionMode: new(batchv1.IndexedCompletion),
		Template: corev1.PodTemplateSpec{Spec: podtest.MinimalPodSpec()},
	}}
	for _, f := range more {
		f(&job.Spec)
	}
	return job
}

func perIndex(limit int32) func(*batchv1.JobSpec) {
	return func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = &limit }
}

func nonIndexed(s *batchv1.JobSpec) { s.CompletionMode = new(batchv1.NonIndexedCompletion) }

// ignoreDisruptions ignores pods that are evicted, and fails the Job on 42.
func ignoreDisruptions(s *batchv1.JobSpec) {
	s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}},
	}}
}

// played returns the result of a simulation that does not fail.
func played(t rapid.TB, job *batchv1.Job, s Scenario, settings Settings) *Result {
	t.Helper()
	return podtest.Must(Play(job, s, settings))
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

// eventsOf returns the events, one per line.
func eventsOf(r *Result) string {
	var b strings.Builder
	for _, h := range r.Happened {
		b.WriteString(h.At.String() + " " + h.Text + "\n")
	}
	return b.String()
}

// TestScripts simulates the Jobs of testdata, each twice. A directive has the spec of a Job, in addition to that of
// indexed, and a scenario. It prints the pods, and with
//
//	play     syncs at once after each change, so that the times are easy to follow
//	events   does the same, and prints what happens to nodes and pods
//	batches  keeps the batch period, and prints the number of syncs
//	refused  cannot be simulated, and prints the error
//	assumed  continues an existing Job; instead of the scenario it has changes of its pods
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			spec, scenario, _ := strings.Cut(d.Input, "\n")
			job := indexed(1, 1)
			if err := yaml.UnmarshalStrict([]byte(spec), &job.Spec); err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			if d.Cmd == "assumed" {
				return assumed(t, d, job, scenario)
			}
			if d.Cmd != "batches" {
				scenario = "batchPeriod: 0s\n" + scenario
			}
			s, err := ReadScenario([]byte(scenario))
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			before := job.DeepCopy()
			got, err := Play(job, s, Settings{})
			if d.Cmd == "refused" && err != nil {
				return err.Error() + "\n"
			}
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			podtest.Same(t, d.Pos+": the Job", job, before)
			again, err := Play(job, s, Settings{})
			if diff := gocmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("%s: the second time: got %v and\n%s\nwant the same", d.Pos, err, diff)
			}
			if (got.End == Stalled) != (got.WaitsFor != "") {
				t.Errorf("%s: %s: waits for %q", d.Pos, got.End, got.WaitsFor)
			}
			out := drawn(got) + "\n"
			switch d.Cmd {
			case "events":
				out += eventsOf(got)
			case "batches":
				out += fmt.Sprintf("%d syncs\n", got.Totals.Syncs)
			}
			return out
		})
	})
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
			got := played(t, indexed(2, 1), Scenario{}, Settings{Continue: tc.proceed})
			podtest.Same(t, "the result", drawn(got), tc.want)
		})
	}
}

// TestSameRandomValues checks that corresponding pods of two Jobs get the same random values.
func TestSameRandomValues(t *testing.T) {
	s := Scenario{Seed: 7, Pods: []Behaviour{{Chance: new(0.5), Spread: metav1.Duration{Duration: time.Hour}}}}
	at := func(parallelism int32) (out []Time) {
		for _, lane := range played(t, indexed(5, parallelism), s, Settings{}).Lanes {
			out = append(out, *lane.Pods[0].Ended-*lane.Pods[0].Started)
		}
		return out
	}
	podtest.Same(t, "how long pods run, one at a time and all at once", at(1), at(5))
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
		s, err := ReadScenario([]byte(text))
		if err = cmp.Or(err, s.Check()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		} else if goName.MatchString(err.Error()) {
			t.Errorf("%s: got %v, which names a Go type", text, err)
		}
	}
}

var goName = regexp.MustCompile(`\bGo\b|json:|int32|uint64|float64|v1\.|simulation\.`)

// TestUnstored simulates a Job as kubectl prints it, with everything that the API server generated.
func TestUnstored(t *testing.T) {
	job := indexed(1, 1)
	labels := map[string]string{batchv1.ControllerUidLabel: "x", "controller-uid": "x", "mine": "y"}
	job.Spec.Template.Labels = labels
	job.Name, job.UID, job.Status.Succeeded = "a", "x", 1
	got, err := Play(job, Scenario{}, Settings{})
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

// TestLargeJob checks the cost of a large Job: the number of syncs does not grow with its pods,
// and the number of pods in a sync does not grow with its indexes.
func TestLargeJob(t *testing.T) {
	const completions, parallelism = 1000, 100
	scenario := podtest.Must(ReadScenario([]byte("pods: [{chance: 0.1, exits: [1, 0]}, {spread: 20s}]")))
	p := podtest.Must(newPlay(indexed(completions, parallelism, perIndex(2)), scenario, Settings{}))
	most := 0
	p.Continue = func(Time, int) bool {
		most = max(most, len(p.cluster.Pods()))
		return true
	}
	r := podtest.Must(p.run())
	if r.End != Complete || r.Totals.Failed < completions/20 {
		t.Errorf("got %s and %d failed pods, want Complete and some", r.End, r.Totals.Failed)
	}
	if perSecond := int(r.Took.Seconds()) + 2; r.Totals.Syncs > perSecond {
		t.Errorf("got %d syncs in %s, want one a second at most", r.Totals.Syncs, r.Took)
	}
	if most > 2*parallelism {
		t.Errorf("a sync reads %d pods, want at most %d", most, 2*parallelism)
	}
}

// TestSlim simulates a Job whose template is larger than a mebibyte. Its pods do not contain the
// whole template, and have the same outcomes as the pods of a small template.
func TestSlim(t *testing.T) {
	large := func(s *batchv1.JobSpec) {
		s.ManualSelector, s.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "c", Operator: metav1.LabelSelectorOpExists}}}
		s.Template.Labels = map[string]string{"a": "b", "c": "d", "e": "f"}
		s.Template.Annotations = map[string]string{"note": strings.Repeat("x", 1<<20)}
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "E", Value: strings.Repeat("x", 1<<20)}}
		s.Template.Spec.InitContainers = []corev1.Container{{Name: "sidecar", Image: "i", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Args: []string{strings.Repeat("x", 1<<20)}}}
	}
	s := Scenario{Pods: []Behaviour{{Indexes: "1", Exits: []int32{42}}}}
	p := podtest.Must(newPlay(indexed(3, 1, ignoreDisruptions, large), s, Settings{KeepCounted: true}))
	got := podtest.Must(p.run())
	want, err := Play(indexed(3, 1, ignoreDisruptions), s, Settings{})
	if err != nil || drawn(got) != drawn(want) {
		t.Errorf("got %v and\n%s\nwant\n%s", err, drawn(got), drawn(want))
	}
	for _, pod := range p.cluster.Pods() {
		if size := pod.Size(); size > 10_000 {
			t.Errorf("pod %s has %d bytes", pod.Name, size)
		}
	}
}
