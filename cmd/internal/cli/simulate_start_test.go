package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/simulation"
)

// TestUsageScenario runs the scenario in the usage, with some of its pods at once and with all.
func TestUsageScenario(t *testing.T) {
	_, text, _ := strings.Cut(runWith("", "simulate", "-h").Stdout, "Every field is optional:\n")
	text, _, ok := strings.Cut(text, "\nWith an existing Job")
	if !ok || !strings.Contains(text, "forceDelete") {
		t.Fatalf("got %q, want the scenario of the usage", text)
	}
	some := []string{simulated("job"), "--set", "spec.completions=8", "--set", "spec.backoffLimitPerIndex=20"}
	all := []string{tempFile(t, "job.yaml", jobWith("  completions: 8\n  parallelism: 8\n  completionMode: Indexed\n"))}
	checkParts(t, "some at once", runWith(text, append([]string{"simulate", "--scenario", "-"}, some...)...), exitOK, []string{
		"suspend is set to true", "pod retry-2-", "are lost", "are unreachable", "the node of pod retry-3-7 is removed", "pod retry-4-8 is deleted by force", "Complete after "})
	checkParts(t, "all at once", runWith(text, append([]string{"simulate", "--scenario", "-"}, all...)...), exitOK, []string{
		"suspend is set to true", "suspend is set to false", "pod a-2-", "is evicted", "the node of pod a-4-", "is lost", "is deleted by force"})
}

// TestSet sets fields of Jobs.
func TestSet(t *testing.T) {
	job, other := simulated("job"), simulated("other-job")
	checkRuns(t, "simulate", []run{
		{"a number", "", []string{job, "--set", "spec.parallelism=6"}, exitOK, "Complete after 12s", ""},
		{"the last value of a field counts", "", []string{job, "--set", "spec.parallelism=6", "--set", "spec.parallelism=1"}, exitOK, "Complete after 1m12s", ""},
		{"unset", "", []string{job, "--set", "spec.completionMode=null", "--set", "spec.backoffLimitPerIndex=null"}, exitOK, "\n 1s  pod retry-1 starts", ""},
		{"in a list", "", []string{job, "--set", "spec.podFailurePolicy.rules[0].action=FailIndex", "--scenario", simulated("retry")}, exitOK, "matched FailIndex rule 0 on pod condition", ""},
		{"one more in a list", "", []string{job, "--set", `spec.podFailurePolicy.rules[1]={action: FailJob, onExitCodes: {operator: In, values: [1]}}`, "--scenario", simulated("retry")}, exitOK, "matched FailJob rule 1", ""},
		{"the name", "", []string{job, "--set", "metadata.name=x"}, exitOK, "Job default/x,", ""},
		{"both Jobs", "", []string{job, "--against", other, "--set", "spec.completions=1"}, exitOK, "pods      1                            1\n", ""},
		{"the other Job", "", []string{job, "--against", other, "--against-set", "spec.completions=1"}, exitOK, "          job.yaml                     spec.completions=1\n", ""},
		{"the same Job", "", []string{job, "--against-set", "spec.parallelism=6", "-o", "json"}, exitOK, `"set": [` + "\n" + `        "spec.parallelism=6"`, ""},
		{"many runs", "", []string{job, "--against-set", "spec.parallelism=6", "--runs", "3"}, exitOK, "\nspec.parallelism=6  3 complete", ""},
		{"no value", "", []string{job, "--set", "spec.parallelism"}, exitUsage, "", "want FIELD=VALUE"},
		{"no field", "", []string{job, "--set", "parallelism=1"}, exitUsage, "", "want FIELD=VALUE"},
		{"no YAML", "", []string{job, "--set", "spec.parallelism={"}, exitUsage, "", "the value is not valid YAML"},
		{"an unknown field", "", []string{job, "--set", "spec.paralelism=1"}, exitInput, "", "--set spec.paralelism=1: a Job has no such field\n"},
		{"a wrong type", "", []string{job, "--set", "spec.parallelism=x"}, exitInput, "", "--set spec.parallelism=x: the value does not fit the field\n"},
		{"beyond a list", "", []string{job, "--set", "spec.podFailurePolicy.rules[3].action=Ignore"}, exitInput, "", "[3] is beyond the end of the list, which has length 1\n"},
		{"no list", "", []string{job, "--set", "spec.parallelism[0]=1"}, exitInput, "", "[0]: its parent is not a list\n"},
		{"no object", "", []string{job, "--set", "spec.parallelism.x=1"}, exitInput, "", "x: its parent is not an object\n"},
		{"a value that the API server rejects", "", []string{job, "--set", "spec.parallelism=-1"}, exitInput, "", "--set spec.parallelism=-1: spec.parallelism: Invalid value: -1"},
		{"a value of the other Job that it rejects", "", []string{job, "--against-set", "spec.parallelism=-1"}, exitInput, "", "--against-set spec.parallelism=-1: spec.parallelism: Invalid value: -1"},
		{"a missing field that another value requires", "", []string{job, "--set", "spec.backoffLimitPerIndex=null", "--set", "spec.maxFailedIndexes=1"}, exitInput, "", "simulate: --set spec.backoffLimitPerIndex=null: spec.backoffLimitPerIndex: Required value"},
		{"a field that others must fit", "", []string{job, "--set", "spec.completionMode=NonIndexed", "--against-set", "spec.parallelism=2"}, exitInput, "", "simulate: --set spec.completionMode=NonIndexed: spec.backoffLimitPerIndex: Invalid value"},
		{"a part of it", "", []string{job, "--set", "spec.podFailurePolicy.rules[0].onPodConditions=null"}, exitInput, "", "simulate: --set spec.podFailurePolicy.rules[0].onPodConditions=null: spec.podFailurePolicy.rules[0]: Invalid value"},
	})
}

func checkRun(t *testing.T, stdin string, args []string, status int, stdout, stderr string) {
	t.Helper()
	checkResult(t, runWith(stdin, args...), status, stdout, stderr)
}

// checkResult checks the exit status and a part of each output. An empty part stands for no output.
func checkResult(t *testing.T, got result, status int, stdout, stderr string) {
	t.Helper()
	if got.Status != status {
		t.Errorf("got status %d and %q, want %d", got.Status, got.Stderr, status)
	}
	checkPart(t, "stdout", got.Stdout, stdout)
	checkPart(t, "stderr", got.Stderr, stderr)
}

// A CronJob is simulated as the Job of its template. Errors have the line in the CronJob. validate
// does not accept it as an old Job.
func TestSimulateCronJob(t *testing.T) {
	const nightly = `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team}
spec:
  schedule: '@daily'
  jobTemplate:
    spec:
      completions: 3
      template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}
`
	checkRuns(t, "simulate", []run{
		{reason: "its template", stdin: nightly, stdout: "Job team/nightly, 3 pods"},
		{reason: "another value", stdin: nightly, args: []string{"--set", "spec.completions=2"}, stdout: "Job team/nightly, 2 pods"},
		{reason: "a field of the wrong type", stdin: edited(t, nightly, "3", "three"), status: exitInput, stderr: "standard input:8: spec.completions: "},
		{reason: "an invalid value", stdin: edited(t, nightly, "3", "-3"), status: exitInput, stderr: "standard input:8: spec.completions: Invalid value: -3"},
		{reason: "no template", stdin: edited(t, nightly, "jobTemplate", "template"), status: exitInput, stderr: "standard input:4: spec.jobTemplate: the CronJob has no template"},
	})
	checkRun(t, nightly, []string{"validate", "--old", "-", simulated("job")}, exitInput, "", simulated("job")+": document 1 is a Job; want the CronJob that updates nightly")
}

// TestSimulateLive continues from existing Jobs.
func TestSimulateLive(t *testing.T) {
	files := func(sample string, args ...string) []string {
		return slices.Concat([]string{"--now", "2023-08-21T10:00:09Z"}, sampleFiles(t, sample), args)
	}
	job := samples + "/indexes-backing-off/job.yaml"
	const assumed = "Assumed without a scenario: each pod runs 3s, like the pod that has succeeded, and succeeds."
	const active = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, uid: u}\nspec:\n  selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}\n  template: {metadata: {labels: {batch.kubernetes.io/controller-uid: u}}, spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}\n"
	checkRuns(t, "simulate", []run{
		{reason: "the status and the pods", args: files("indexes-backing-off"), stdout: " 0s  index 1 backs off until 4s\n"},
		{reason: "the time", args: files("indexes-backing-off"), stdout: "All times are relative to 2023-08-21T10:00:09Z."},
		{reason: "as JSON", args: files("indexes-backing-off", "-o", "json"), stdout: `"from": "2023-08-21T10:00:09Z"`},
		{reason: "as a picture", args: files("indexes-backing-off", "-o", "svg"), stdout: "index 1 backs off, 0s to 4s"},
		{reason: "another value from now on", args: files("indexes-backing-off", "--against-set", "spec.parallelism=8"), stdout: "time      23s                          13s\n"},
		{reason: "the assumption comes first", args: files("indexes-backing-off"), stdout: assumed + "\n\nComplete after 23s: "},
		{reason: "the assumption, many runs", args: files("indexes-backing-off", "--runs", "3"), stdout: assumed + "\n\n3 runs: 3 complete"},
		{reason: "an immutable field", args: files("indexes-backing-off", "--set", "spec.backoffLimitPerIndex=3"), stdout: assumed + "\nspec.backoffLimitPerIndex: immutable in an existing Job; this is how a new one"},
		{reason: "an immutable field of the other", args: files("indexes-backing-off", "--against-set", "spec.template.spec.terminationGracePeriodSeconds=3", "--from-creation", "-o", "json"), stdout: "\"set\": ["},
		{reason: "the same in JSON", args: files("indexes-backing-off", "--against-set", "spec.template.spec.terminationGracePeriodSeconds=3", "-o", "json"), stdout: "\"immutable\": [\n        \"spec.template\"\n"},
		{reason: "the assumption, a comparison", args: files("indexes-backing-off", "--against-set", "spec.parallelism=8"), stdout: assumed + "\n\n          job.yaml "},
		{reason: "the assumption, many comparisons", args: files("indexes-backing-off", "--against-set", "spec.parallelism=8", "--runs", "3"), stdout: assumed + "\n\n3 runs each"},
		{reason: "the assumption, as JSON", args: files("indexes-backing-off", "-o", "json"), stdout: `"assumed": "` + assumed + `"`},
		{reason: "the assumption, many runs as JSON", args: files("indexes-backing-off", "-o", "json", "--runs", "3"), stdout: `"assumed": "` + assumed + `"`},
		{reason: "the assumption, in a picture", args: files("indexes-backing-off", "-o", "svg"), stdout: ">" + strings.TrimSuffix(assumed, ".") + "<"},
		{reason: "stuck pods and a used-up quota", args: append([]string{"--now", "2023-08-21T10:00:00Z"}, sampleFiles(t, "cannot-start")...),
			stdout: "stuck pods stay as they are: ImagePullFailed (2), Unschedulable (1); no further pod gets a node before one ends; no more than 4 pods at a time: QuotaExceeded.\n\nStalled after "},
		{reason: "a scenario replaces the assumptions", args: files("indexes-backing-off", "--scenario", "-"), stdin: "{}", stdout: "Complete after 52s: "},
		{reason: "from its creation", args: files("indexes-backing-off", "--from-creation"), stdout: "Complete after 48s"},
		{reason: "without its pods", args: []string{job}, stdout: "Complete after"},
		{reason: "without its active pods", stdin: active + "status: {active: 1}\n", status: exitInput,
			stderr: "standard input:7: the status counts active pods, but the input has none; add the pods of the Job, or --from-creation"},
		{reason: "against another Job", args: files("indexes-backing-off", "--against", simulated("job")), status: exitInput, stderr: "add --from-creation to ignore it"},
		{reason: "against another Job, both from their creation", args: files("indexes-backing-off", "--against", simulated("job"), "--from-creation"), stdout: "Indexes that differ:"},
		{reason: "another Job that exists", args: append([]string{simulated("job"), "--against"}, job), status: exitInput, stderr: "add --from-creation to ignore it"},
		{reason: "no status yet, but a pod", args: []string{"--now", "2023-08-21T10:00:09Z"}, stdin: active + `---
apiVersion: v1
kind: Pod
metadata: {name: early, uid: p, creationTimestamp: 2023-08-21T10:00:00Z, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a, uid: u, controller: true}],
  labels: {batch.kubernetes.io/controller-uid: u}, finalizers: [batch.kubernetes.io/job-tracking]}
spec: {}
status: {phase: Pending}
`, stdout: "pod early starts"},
		{reason: "a Job that is being deleted", stdin: strings.Replace(active, "uid: u", "uid: u, deletionTimestamp: 2023-08-21T10:00:00Z", 1) + "status: {failed: 1}\n",
			status: exitInput, stderr: "standard input:3: the Job is being deleted; add --from-creation"},
		{reason: "ten minutes ago, before the Job", args: files("indexes-backing-off", "--now", "-10m"), status: exitInput, stderr: "job.yaml:1: at 2023-08-21T09:50:09Z the Job or one of its pods did not exist yet; give the time of the input with --now\n"},
		{reason: "a clock behind that of the cluster", args: files("indexes-backing-off", "--now", "-20s"), stdout: "All times are relative to 2023-08-21T09:59:49Z."},
		{reason: "before one of its pods", status: exitInput,
			stdin:  edit(t, "indexes-backing-off", "\n    creationTimestamp: \"2023-08-21T10:00:00Z\"\n", "\n    creationTimestamp: \"2023-08-21T11:00:00Z\"\n"),
			stderr: ": at 2023-08-21T10:00:09Z the Job or one of its pods did not exist yet"},
		{reason: "before the Job, which has no pods", args: []string{"--now", "2023-08-21T09:00:00Z"}, status: exitInput,
			stdin:  strings.Replace(active, "uid: u", "uid: u, creationTimestamp: 2023-08-21T10:00:00Z", 1) + "status: {failed: 1}\n",
			stderr: "standard input:1: at 2023-08-21T09:00:00Z the Job or one of its pods did not exist yet"},
	})
	for _, args := range [][]string{files("indexes-backing-off", "--from-creation"), {simulated("job")}, files("indexes-backing-off", "--scenario", simulated("retry"))} {
		if got := runWith("", append([]string{"simulate"}, args...)...); got.Status != exitOK || strings.Contains(got.Stdout, "Assumed") {
			t.Errorf("%q: got %+v, want nothing that is assumed", args, got)
		}
	}
}

// TestSimulateBounds checks that every simulation ends, with an error that names the flag to
// raise the bound.
func TestSimulateBounds(t *testing.T) {
	job, whole := simulated("job"), simulated("whole-job")
	loop := "pods: [{exits: [1], durations: [1s]}]\n"
	for _, tc := range []struct {
		reason string
		args   []string
		stdin  string
		stderr string
	}{
		{"parallelism", []string{"-"}, strings.NewReplacer("completions: 3", "backoffLimit: 3", "parallelism: 2", "parallelism: 2147483647").Replace(readFile(t, whole)),
			"standard input:7: spec.parallelism: 2147483647 pods at once; want at most 20000 (--max-active)\n"},
		{"parallelism of an event", []string{whole, "--set", "spec.completions=null", "--scenario", "-"}, "events:\n- at: 3s\n  parallelism: 2147483647\n",
			"standard input:2: events[0]: spec.parallelism: 2147483647 pods at once; want at most 20000 (--max-active)\n"},
		{"a bound from a flag", []string{job, "--max-active", "2"}, "", "job.yaml:7: spec.parallelism: 3 pods at once; want at most 2 (--max-active)\n"},
		{"pods", []string{job, "--set", "spec.backoffLimitPerIndex=2147483647", "--scenario", "-", "--max-pods", "20"}, loop, "there were more than 20 pods in all (--max-pods)\n"},
		{"steps", []string{job, "--set", "spec.backoffLimitPerIndex=2147483647", "--scenario", "-", "--max-steps", "200"}, loop, "the simulation took more than 200 steps (--max-steps)\n"},
		{"events", []string{job, "--scenario", "-", "--max-events", "1"}, "events: [{suspend: true}, {suspend: false}]", "standard input:1: events: there are 2; want at most 1 (--max-events)\n"},
		{"a limit that is too long", []string{job, "--limit", "100000h"}, "", "--limit: 100000h0m0s is longer than 10 years"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			begun := time.Now()
			checkRun(t, tc.stdin, append([]string{"simulate"}, tc.args...), exitInput, "", tc.stderr)
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	checkRun(t, loop, []string{"simulate", job, "--set", "spec.backoffLimitPerIndex=2147483647", "--scenario", "-", "--limit", "1h"}, exitOK, "Out of time after 1h", "")
	checkRun(t, "", []string{"simulate", job, "--max-pods", "0"}, exitUsage, "", "want 1 to 2147483647")
	checkRun(t, "", []string{"simulate", job, "--runs", "0"}, exitUsage, "", "want 1 to 100000")
	r := recorder{changes: true, size: mostChanges}
	if err := r.stored(simulation.Status{}); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	r.size++
	if err := r.stored(simulation.Status{}); err == nil || !strings.Contains(err.Error(), "the statuses take more than 256 MiB") {
		t.Errorf("got %v, want an error about the size of the statuses", err)
	}
}

// TestFolded checks that long texts are folded.
func TestFolded(t *testing.T) {
	job := simulated("job")
	for _, tc := range []struct {
		reason string
		args   []string
		stdin  string
		most   int
		want   []string
	}{
		{"10,000 indexes", []string{job, "--set", "spec.completions=10000", "--set", "spec.parallelism=1000"}, "{}", 25,
			[]string{"500 pods start: indexes 0-499\n", "... repeats every 12s, 8 times, until 1m48s: 500 pods start, 500 pods succeed\n", "20023 lines are folded into 16; --full prints all of them."}},
		{"an endless loop", []string{job, "--set", "spec.completions=1", "--set", "spec.backoffLimitPerIndex=2147483647"}, "pods: [{exits: [137], durations: [30s]}]", 60,
			[]string{"\n 24m7s  ... repeats every 10m31s, 957 times, until 167h58m35s: pod starts, pod fails with exit code 137, index backs off\n"}},
		{"no order", []string{job, "--set", "spec.completions=1000", "--set", "spec.parallelism=100"}, "pods: [{chance: 0.05, exits: [1, 0]}, {spread: 60s}]\nevents: [{at: 60s, evict: \"200\"}]", 65,
			[]string{"evict 200: no such pod is active on a node\n", "  until 30s: ", " pods succeed, ", " pods fail with exit code 1, "}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			text := runWith(tc.stdin, append([]string{"simulate", "--scenario", "-"}, tc.args...)...).Stdout
			if lines := strings.Count(text, "\n"); lines > tc.most {
				t.Errorf("got %d lines, want %d at most:\n%s", lines, tc.most, text)
			}
			for _, want := range tc.want {
				checkPart(t, "the text", text, want)
			}
		})
	}
}

// TestFullFlag prints all lines of a run that is folded without the flag.
func TestFullFlag(t *testing.T) {
	args := []string{"simulate", simulated("job"), "--set", "spec.completions=100", "--set", "spec.parallelism=10"}
	folded, full := runWith("", args...), runWith("", append(args, "--full")...)
	checkPart(t, "without the flag", folded.Stdout, "lines are folded into")
	if lines := strings.Count(full.Stdout, "\n"); lines < 200 || strings.Contains(full.Stdout, "...") {
		t.Errorf("--full: got %d lines, want all", lines)
	}
}

// TestFoldKeepsCount checks that the counts in folded lines add up to all events.
func TestFoldKeepsCount(t *testing.T) {
	result := &simulation.Result{}
	tell := timeline{Result: result, indexed: true}
	for i := range int32(300) {
		at := simulation.Time(i) * simulation.Time(time.Second)
		end := at + simulation.Time(time.Duration(1+i%7)*time.Second)
		result.Lanes = append(result.Lanes, simulation.Lane{Index: i, Pods: []simulation.Pod{{Started: &at, Ended: &end, Outcome: simulation.PodSucceeded}}})
	}
	lines, all := folded(tell.lines(), true)
	if all != 600 {
		t.Errorf("got %d lines, want 600", all)
	}
	sums := map[string]int{}
	for _, l := range lines {
		for _, s := range l.sums {
			sums[s.what.one] += s.n
		}
	}
	if sums["starts"] != 300 || sums["succeeds"] != 300 {
		t.Errorf("got %v, want 300 of each", sums)
	}
}
