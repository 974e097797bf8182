package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

// TestPartOfTheInputIsUnreadable explains and validates what can be read. The exit status is that of
// unreadable input, and the first line says that the answer may be wrong.
func TestPartOfTheInputIsUnreadable(t *testing.T) {
	whole, other := edit(t, "indexes-backing-off"), edit(t, "finished")
	const first = "Incomplete: 1 part of the input cannot be read, so this answer may be wrong.\n"
	good, broken := tempFile(t, "good.yaml", whole), tempFile(t, "broken.yaml", "kind: [\n")
	checkRuns(t, "", []run{
		{"a List of pods that is cut within a pod", whole[:strings.LastIndex(whole, "kind: List")], []string{"explain"}, exitInput, first + "CreatingPods: ", "standard input: document 2 has no kind"},
		{"one that is cut within a line", whole[:strings.LastIndex(whole, "data:")], []string{"explain"}, exitInput, first + "CreatingPods: ", "standard input: document 2: line 305: could not find expected ':'"},
		{"a document among others", whole + "---\na: b: c\n---\n" + other, []string{"explain"}, exitInput, first + "NAME ", "document 3: line "},
		{"the message of a failed kubectl", whole + "---\nNo resources found in default namespace.\n", []string{"explain", "--exit-status"}, exitInput, first + "BackingOff: ",
			`document 3 is a message of kubectl, "No resources found in default namespace."; want the output of kubectl get -o yaml`},
		{"as JSON", whole + "---\na: b: c\n", []string{"explain", "-o", "json"}, exitInput, `"unreadable": [` + "\n" + `    "standard input: document 3: line `, "document 3: line "},
		{"a file", "", []string{"explain", good, broken}, exitInput, first + "BackingOff: ", "broken.yaml: document 1: "},
		{"a file that does not exist", "", []string{"explain", "nowhere.yaml", good}, exitInput, first + "BackingOff: ", "jobfate explain: nowhere.yaml: no such file or directory\n"},
		{"manifests", "", []string{"validate", broken, simulated("job"), "nowhere.yaml"}, exitInput, "job.yaml:1: Job retry accepted", "broken.yaml: document 1: "},
		{"a manifest that is rejected", "", []string{"validate", manifest("wrong.yaml"), broken}, exitInput, "Job index rejected, 11 errors", "broken.yaml: document 1: "},
		{"manifests, as JSON", "", []string{"validate", "-o", "json", broken, simulated("job")}, exitInput, "broken.yaml: document 1: ", "broken.yaml: document 1: "},
		{"a Job that is not there", "", []string{"explain", "--job", "x", good, broken}, exitInput, "", "broken.yaml: document 1: "},
		{"a simulation needs everything", "", []string{"simulate", good, broken}, exitInput, "", "broken.yaml: document 1: "},
	})
}

// TestOtherGroups explains a Job beside a Job of Volcano.
func TestOtherGroups(t *testing.T) {
	const volcano = "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: v, namespace: default, uid: v}\nspec: {tasks: []}\n"
	checkRun(t, edit(t, "backing-off")+volcano, []string{"explain", "--now", "2023-08-21T10:00:40Z"}, exitOK,
		"BackingOff: backing off until 10:00:51Z after 2 failures, 20s after pod crawl-qj6tb failed: ", "")
	checkRun(t, edit(t, "backing-off")+volcano, []string{"explain"}, exitOK, "Notes:\n  OtherKinds: objects of other kinds were skipped: Job.batch.volcano.sh\n", "")
	checkRun(t, readFile(t, simulated("job"))+volcano, []string{"validate"}, exitOK, "objects of other kinds, which were not checked: Job.batch.volcano.sh\n", "")
	checkRun(t, readFile(t, simulated("job"))+volcano, []string{"simulate"}, exitOK, "Complete after ", "")
}

// TestManyPods checks that the text stays short with many pods, and that the JSON is complete.
func TestManyPods(t *testing.T) {
	const n = 3000
	pods := make([]string, n)
	for i := range pods {
		pods[i] = fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-%d","uid":"uid-%d","annotations":{%q:"%d"},"finalizers":[%q],`+
			`"ownerReferences":[{"kind":"Job","name":"big","uid":"big-uid","controller":true}]},"spec":{},"status":{"phase":%q}}`,
			i, i, batchv1.JobCompletionIndexAnnotation, i, batchv1.JobTrackingFinalizer, []string{"Failed", "Running", "Succeeded"}[i%3])
	}
	job := fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"big","uid":"big-uid"},"spec":{"completions":%d,"parallelism":%d,`+
		`"completionMode":"Indexed","backoffLimitPerIndex":1},"status":{}}`, 2*n, 2*n)
	input := job + `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(pods, ",") + "]}"
	text := runWith(input, "explain")
	if lines := strings.Count(text.Stdout, "\n"); text.Status != exitOK || lines > 150 || len(text.Stdout) > 20_000 {
		t.Errorf("got status %d, %d lines, %d bytes: %s; want at most 150 lines and 20000 bytes", text.Status, lines, len(text.Stdout), text.Stderr)
	}
	for _, part := range []string{"  and 480 more (--all shows them)\n", " (2127 bytes): creating a pod\n", ": pending, limited by parallelism\n  (--all shows each index)\n", "… ("} {
		checkPart(t, "stdout", text.Stdout, part)
	}
	all := runWith(input, "explain", "--all")
	if strings.Contains(all.Stdout, "--all shows them") || strings.Count(all.Stdout, "\n") < n {
		t.Errorf("with --all: got %d bytes, want everything", len(all.Stdout))
	}
	r := fromJSON[report](t, runWith(input, "explain", "-o", "json").Stdout)
	if got := len(r.Creations) + len(r.Finalizers) + len(r.Indexes); len(r.Creations) != 500 || got < n {
		t.Errorf("JSON: got %d creations and %d entries, want 500 and at least %d", len(r.Creations), got, n)
	}
}

// TestExitStatus checks the exit status with --exit-status. TestGolden checks that it is 0 without.
func TestExitStatus(t *testing.T) {
	for _, g := range goldens {
		args := append([]string{"explain", "--exit-status", "--now", g.now}, sampleFiles(t, g.sample)...)
		if got := runWith("", args...).Status; got != g.status {
			t.Errorf("%s: got status %d, want %d", g.name, got, g.status)
		}
	}
}

// TestColor checks when text is coloured.
func TestColor(t *testing.T) {
	files := sampleFiles(t, "finished")
	for _, tc := range []struct {
		reason string
		shown  bool
		env    map[string]string
		flags  []string
		want   bool
	}{
		{"a terminal", true, nil, nil, true},
		{"a pipe", false, nil, nil, false},
		{"https://no-color.org", true, map[string]string{"NO_COLOR": "1"}, nil, false},
		{"a terminal without colours", true, map[string]string{"TERM": "dumb"}, nil, false},
		{"never", true, nil, []string{"--color", "never"}, false},
		{"always, in spite of the environment", false, map[string]string{"NO_COLOR": "1", "TERM": "dumb"}, []string{"--color", "always"}, true},
		{"JSON has none", true, nil, []string{"-o", "json"}, false},
	} {
		env := testEnvironment()
		env.StdoutTerminal, env.Getenv = tc.shown, func(name string) string { return tc.env[name] }
		got := runIn(env, "", slices.Concat([]string{"explain"}, tc.flags, files)...)
		if colored := strings.Contains(got.Stdout, "\x1b["); got.Status != exitOK || colored != tc.want {
			t.Errorf("%s: got status %d, colours %t, want %t", tc.reason, got.Status, colored, tc.want)
		}
	}
}

// TestHintForInputFromATerminal checks that without a file, a user at a terminal gets a hint.
func TestHintForInputFromATerminal(t *testing.T) {
	env := testEnvironment()
	env.StdinTerminal = true
	if got := runIn(env, edit(t, "finished"), "explain"); got.Status != exitOK || got.Stderr != "jobfate: reading standard input; end it with Ctrl-D\n" {
		t.Errorf("got status %d and %q, want a hint about the standard input", got.Status, got.Stderr)
	}
}
