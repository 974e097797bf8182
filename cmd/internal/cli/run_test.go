package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatusAndMessages(t *testing.T) {
	job := filepath.Join(samples, "indexes-backing-off", "job.yaml")
	pods := filepath.Join(samples, "indexes-backing-off", "pods.yaml")
	elsewhere := filepath.Join(samples, "managed-elsewhere", "job.yaml")
	checkRuns(t, "", []run{
		{reason: "no command is misuse", status: exitUsage, stderr: "Usage: jobfate COMMAND"},
		{reason: "so is an unknown one", args: []string{"frobnicate"}, status: exitUsage, stderr: `unknown command "frobnicate"`},
		{reason: "help is asked for", args: []string{"--help"}, stdout: "Usage: jobfate COMMAND"},
		{reason: "help of a command is asked for", args: []string{"explain", "-h"}, stdout: "-managed-by name"},
		{reason: "unknown flag", args: []string{"explain", "-x"}, status: exitUsage,
			stderr: "jobfate explain: flag provided but not defined: -x\nrun jobfate explain -h for usage\n"},
		{reason: "unknown format", args: []string{"explain", "-o", "xml"}, status: exitUsage, stderr: `invalid value "xml" for flag -o: want text, json or yaml`},
		{reason: "an invalid time", args: []string{"explain", "-now", "noon"}, status: exitUsage, stderr: `invalid value "noon" for flag -now`},
		{reason: "standard input twice", args: []string{"explain", "-", "-"}, status: exitUsage, stderr: "standard input (-) is given twice"},
		{reason: "a folder: the files in it", args: []string{"explain", filepath.Dir(job)}, stdout: "BackingOff: the next indexes without a pod are backing off, the first until 10:00:13Z, 10s after pod "},
		{reason: "the outputs of kubectl one behind the other", args: []string{"explain"}, stdin: readFile(t, job) + readFile(t, pods), stdout: "BackingOff: the next indexes without a pod are backing off, the first until 10:00:13Z, 10s after pod "},
		{reason: "everything given twice", args: []string{"explain", job, pods, pods, job}, stdout: "BackingOff: the next indexes without a pod are backing off, the first until 10:00:13Z, 10s after pod "},
		{reason: "a Job that was created again in between", stdin: strings.Replace(readFile(t, job), "\n  uid: 5b2e", "\n  uid: 0000", 1), args: []string{"explain", job, "-"}, status: exitInput,
			stderr: "standard input: document 1 is a second Job job-backoff-limit-per-index-execute-all; the first is " + job + ": document 1"},
		{reason: "a file named with -f, before another", args: []string{"explain", "-f", job, pods}, stdout: "BackingOff: the next indexes without a pod are backing off, the first until 10:00:13Z, 10s after pod "},
		{reason: "flags after files", args: []string{"explain", job, "-o", "json", pods}, stdout: `"code": "BackingOff"`},
		{reason: "everything after -- is a file", args: []string{"explain", "--", "-o"}, status: exitInput, stderr: "jobfate explain: -o: no such file or directory\n"},
		{reason: "another controller's Job, asked of a third", args: []string{"explain", "--managed-by", "me", elsewhere}, status: exitInput,
			stderr: elsewhere + ":19: spec.managedBy: the Job is managed by another controller: jobs.example.com/trainer"},
		{reason: "the same, asked of that controller", args: []string{"explain", "--managed-by", "jobs.example.com/trainer", elsewhere},
			stdout: "jobs.example.com/trainer manages the Job: "},
		{reason: "no --now: the present, in whole seconds", args: []string{"explain", job}, stdout: "at 2023-08-21T10:00:09Z"},
	})
}

// run is a run of a command, and what it prints.
type run struct {
	reason string
	stdin  string
	args   []string
	status int
	stdout string // part of stdout; empty: no output
	stderr string // part of stderr; empty: no output
}

// checkRuns runs a command; without one, the arguments name it.
func checkRuns(t *testing.T, command string, runs []run) {
	for _, r := range runs {
		t.Run(r.reason, func(t *testing.T) {
			checkRun(t, r.stdin, append(strings.Fields(command), r.args...), r.status, r.stdout, r.stderr)
		})
	}
}

// checkParts checks the exit status, and parts of stdout or, if a part of the input cannot be read, of stderr.
func checkParts(t *testing.T, what string, got result, status int, parts []string) {
	t.Helper()
	if got.Status != status || got.Stderr != "" && status != exitInput {
		t.Errorf("%s: got status %d and %q, want %d, with\n%s", what, got.Status, got.Stderr, status, got.Stdout)
	}
	text := got.Stdout
	if status == exitInput {
		text = got.Stderr
	}
	for _, part := range parts {
		checkPart(t, what, text, part)
	}
}

// checkPart checks that a text has a part. A number at its beginning is the whole number: "1 error" is no part of
// "11 errors".
func checkPart(t *testing.T, what, got, part string) {
	t.Helper()
	if part == "" && got != "" {
		t.Errorf("%s: got %q, want nothing", what, got)
	}
	if whole := regexp.MustCompile(`^\b\d`).FindString(part) != ""; !strings.Contains(got, part) ||
		whole && !regexp.MustCompile(`(^|\D)`+regexp.QuoteMeta(part)).MatchString(got) {
		t.Errorf("%s: got %q, want it to contain %q", what, got, part)
	}
}

// edit returns the input of a sample with some of its text replaced.
func edit(t *testing.T, sample string, oldnew ...string) string {
	t.Helper()
	docs := mapped(sampleFiles(t, sample), func(file string) string { return readFile(t, file) })
	return edited(t, strings.Join(docs, "---\n"), oldnew...)
}

// edited returns a text with some of its parts replaced.
func edited(t *testing.T, text string, oldnew ...string) string {
	t.Helper()
	for i := 0; i < len(oldnew); i += 2 {
		if !strings.Contains(text, oldnew[i]) {
			t.Fatalf("there is no %q in\n%s", oldnew[i], text)
		}
	}
	return strings.NewReplacer(oldnew...).Replace(text)
}

func TestExplainEdited(t *testing.T) {
	for _, tc := range []struct {
		reason string
		sample string
		edits  []string
		status int
		want   []string // parts of stdout, or of stderr if status is not 0
	}{
		{reason: "a Job without a UID is invalid; the error names the field", sample: "finished",
			edits: []string{"\n  uid: 5b2e0028-7d1e-4c55-9a0b-3f9a00000028\nspec:", "\nspec:"}, status: exitInput,
			want: []string{"standard input:3: metadata.uid: Required value"}},
		{reason: "every error is reported", sample: "finished",
			edits: []string{"  completions: 1\n", "  completions: -1\n", "  parallelism: 1\n", "  parallelism: -1\n"}, status: exitInput,
			want: []string{"standard input:20: spec.parallelism: Invalid value: -1", "standard input:18: spec.completions: Invalid value: -1"}},
		{reason: "an invalid selector", sample: "finished",
			edits:  []string{"    matchLabels:\n      batch.kubernetes.io/controller-uid: 5b2e0028-7d1e-4c55-9a0b-3f9a00000028\n", "    matchExpressions:\n    - {key: a, operator: Near}\n"},
			status: exitInput, want: []string{"standard input:22: spec.selector: Invalid value"}},
		{reason: "pods of another Job are ignored, with a note", sample: "backing-off",
			edits: []string{"      kind: Job\n      name: crawl\n      uid: 5b2e0032-", "      kind: Job\n      name: crawl\n      uid: 00000000-"},
			want:  []string{", 0 pods, created", "Notes:\n  ForeignPodsIgnored: 3 pods of other owners were given, and ignored"}},
		{reason: "pods without an owner are adopted", sample: "backing-off",
			edits: []string{"      controller: true\n", "      controller: false\n"},
			want:  []string{"  adopt pod crawl-7pn4s\n"}},
		{reason: "pods that the selector no longer matches are released", sample: "backing-off",
			edits: []string{"-3f9a00000032\n      batch.kubernetes.io/job-name", "-000000000000\n      batch.kubernetes.io/job-name"},
			want:  []string{"  release pod crawl-kx9fd\n"}},
		{reason: "pods that may not be adopted are freed", sample: "managed-elsewhere",
			edits: []string{"      controller: true\n", "      controller: false\n"},
			want:  []string{"  remove the finalizer of pod train-0-p5k2v, which has no owner\n"}},
		{reason: "ignored failures are shown", sample: "indexes-backing-off",
			edits: []string{"job-index-failure-count: \"0\"\n", "job-index-failure-count: \"0\"\n      batch.kubernetes.io/job-index-ignored-failure-count: \"2\"\n",
				"T10:00:03Z", "T09:00:03Z", "backoffLimitPerIndex: 1", "backoffLimitPerIndex: 5"},
			want: []string{"in place of job-backoff-limit-per-index-execute-all-1-6wd82, failure count 1, ignored failure count 2\n"}},
		{reason: "an unknown field has a note", sample: "finished",
			edits: []string{"  completions: 1\n", "  completions: 1\n  backOffLimit: 2\n"},
			want:  []string{"UnknownField: spec.backOffLimit is unknown to this version of jobfate"}},
		{reason: "managedBy may name the Job controller", sample: "managed-elsewhere",
			edits: []string{"jobs.example.com/trainer", "kubernetes.io/job-controller"},
			want:  []string{"Job default/train, 2 pods, created 9s ago, started 9s ago, at 2023-08-21T10:00:09Z.\ndone 0 · terminating 1 · not run 1.\n\nNext"}},
		{reason: "a number that is still unset", sample: "backing-off", edits: []string{"  terminating: 0\n", ""},
			want: []string{"    terminating: unset → 0\n"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			checkParts(t, "explain", runWith(edit(t, tc.sample, tc.edits...), "explain"), tc.status, tc.want)
		})
	}
}

// TestJobWithoutItsPods checks that explain reports missing pods of a Job.
func TestJobWithoutItsPods(t *testing.T) {
	job := strings.SplitN(edit(t, "failed-by-rule"), "---\n", 2)[0]
	got := runWith(job, "explain")
	checkPart(t, "stdout", got.Stdout, "PodsMissing: the status counts 3 pods as active, but none of them was given\n  Get its pods, too: kubectl get pods -n default -l job-name=import -o yaml")
}

// TestStuck checks that events in the input explain why pods cannot start, and that the exit
// status and the order of Jobs reflect it.
func TestStuck(t *testing.T) {
	input := edit(t, "cannot-start") + "\n---\n" + edit(t, "finished")
	const at = "2023-08-21T10:00:00Z"
	for _, tc := range []struct {
		reason string
		args   []string
		status int
		want   string
	}{
		{"one Job", []string{"--job", "resize", "--exit-status"}, 6, "QuotaExceeded: 1 pod cannot be created: "},
		{"the other causes", []string{"--job", "resize"}, exitOK, "Also:\n  Unschedulable: 1 of 4 active pods cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.\n  ImagePullFailed: 2 of 4 active pods cannot pull an image: "},
		{"the totals", []string{"--job", "resize"}, exitOK, "done 8 · running 1 · stuck 3 · pending 18.\n"},
		{"the stuck one first", []string{"--exit-status"}, 6, "MESSAGE\nresize   8/30          20m        20m   QuotaExceeded   1 pod cannot be created: "},
	} {
		got := runWith(input, append([]string{"explain", "--now", at}, tc.args...)...)
		checkParts(t, tc.reason, got, tc.status, []string{tc.want})
	}
}

// TestManyIndexes checks that many indexes in the same state share a line.
func TestManyIndexes(t *testing.T) {
	input := strings.NewReplacer("completions: 30", "completions: 3000", "completedIndexes: 0-7", "completedIndexes: 0-7,100,102,104,106,108,110,112,114,116,118,120,122,124,126,128,130,132,134,136,138").Replace(edit(t, "cannot-start"))
	got := runWith(input, "explain", "--now", "2023-08-21T10:00:00Z").Stdout
	checkPart(t, "groups", got, "\n  9,10: pods cannot pull an image\n  11: pods cannot be scheduled\n  12: creating a pod\n  8: active\n  13-99,101,103,")
	if all := runWith(input, "explain", "--all", "--now", "2023-08-21T10:00:00Z").Stdout; !strings.Contains(all, "\n  index 133: ") {
		t.Errorf("with --all there is no index 133:\n%s", all)
	}
}

// TestMultiKueue checks that there is no next step for a Job that another cluster runs.
func TestMultiKueue(t *testing.T) {
	input := strings.Replace(edit(t, "managed-elsewhere"), "jobs.example.com/trainer", "kueue.x-k8s.io/multikueue", 1)
	got := runWith(input, "explain", "--now", "2023-08-21T10:03:01Z", "--exit-status")
	if got.Status != exitOK || !strings.HasPrefix(got.Stdout, "MultiKueue: MultiKueue runs the Job in a worker cluster") || strings.Contains(got.Stdout, "Next") {
		t.Errorf("got status %d and\n%s", got.Status, got.Stdout)
	}
	held := runWith(`{apiVersion: batch/v1, kind: Job, metadata: {name: train, uid: u, labels: {kueue.x-k8s.io/queue-name: gpu}},
  spec: {managedBy: kueue.x-k8s.io/multikueue, suspend: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}}}, status: {}}`, "explain")
	checkPart(t, "held by Kueue", held.Stdout, "once it is admitted; Kueue holds the Job suspended until its queue gpu admits it")
	// With --managed-by MultiKueue there is a decision.
	checkPart(t, "asked as MultiKueue", runWith(input, "explain", "--now", "2023-08-21T10:03:01Z", "--managed-by", "kueue.x-k8s.io/multikueue").Stdout, "Ending: the Job fails")
}

// brokenWriter fails like a closed pipe or a full disk.
type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestOutputThatCannotBeWritten(t *testing.T) {
	full := errors.New("no space left on device")
	for _, tc := range []struct {
		reason string
		err    error
		want   result
	}{
		{"a closed pipe ends quietly", &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, result{Status: exitOK}},
		{"any other error is reported", full, result{Status: exitInput, Stderr: "jobfate explain: no space left on device\n"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			var stderr bytes.Buffer
			args := append([]string{"explain"}, sampleFiles(t, "finished")...)
			env := testEnvironment()
			env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), brokenWriter{tc.err}, &stderr
			status := Run(args, env)
			if diff := cmp.Diff(tc.want, result{Status: status, Stderr: stderr.String()}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOldFile checks that an overdue step in a file is not blamed on the controller alone: the file
// may be old.
func TestOldFile(t *testing.T) {
	const text = `apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: b, uid: c, creationTimestamp: "2023-08-20T10:00:00Z"}
spec:
  selector: {matchLabels: {job: a}}
  template: {metadata: {labels: {job: a}}}
status: {startTime: "2023-08-20T10:00:00Z"}
`
	name := tempFile(t, "job.yaml", text)
	const hint = "If the file was saved earlier, give its time with --now."
	for _, tc := range []struct {
		args []string
		want bool
	}{{[]string{name}, true}, {nil, false}, {[]string{"--now", "2023-08-21T10:00:09Z", name}, false}} {
		got := runWith(text, append([]string{"explain"}, tc.args...)...).Stdout
		if !strings.Contains(got, "Overdue: ") || strings.Contains(got, hint) != tc.want {
			t.Errorf("%v: got\n%s\nwant the hint: %t", tc.args, got, tc.want)
		}
	}
}
