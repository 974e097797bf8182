package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
)

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
	if got := runIn(env, readFile(t, sampleFiles(t, "finished")[0]), "explain"); got.Status != exitOK || got.Stderr != "jobfate: reading standard input; end it with Ctrl-D\n" {
		t.Errorf("got status %d and %q, want a hint about the standard input", got.Status, got.Stderr)
	}
}
