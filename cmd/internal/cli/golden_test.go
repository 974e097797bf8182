package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/jobfate/jobfate/cmd/internal/cases"
	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/jobtest"
)

const samples = "../../testdata/samples"

// goldens lists the sample inputs, each at an interesting time.
var goldens = []struct {
	name, sample, now string
	status            int    // with --exit-status
	reason            string // what it shows
}{
	{"indexes-backing-off", "indexes-backing-off", "2023-08-21T10:00:09Z", 3, "two indexes are backing off, and later indexes wait for them"},
	{"indexes-retried", "indexes-backing-off", "2023-08-21T10:00:14Z", 0, "the delay of one of them is over"},
	{"failed-by-rule", "failed-by-rule", "2023-08-21T10:00:13Z", 5, "a FailJob rule with a name matches"},
	{"suspended", "suspended", "2023-08-21T10:00:00Z", 4, "a Job is suspended while it runs"},
	{"finished", "finished", "2023-08-21T10:01:31Z", 0, "a Job is complete and one finalizer is left"},
	{"backing-off", "backing-off", "2023-08-21T10:00:40Z", 3, "a Job that is not Indexed is backing off"},
	{"backoff-over", "backing-off", "2023-08-21T10:00:51Z", 0, "its delay is over"},
	{"cannot-start", "cannot-start", "2023-08-21T10:00:00Z", 6, "a quota refuses a pod, and others cannot start"},
	{"jobset-child", "jobset-child", "2026-05-01T12:30:00Z", 5, "the JobSet above restarts a Job that has failed"},
	{"restart-rule", "restart-rule", "2026-05-01T12:30:00Z", 6, "a rule restarts a container forever"},
	{"unbound-volume", "unbound-volume", "2026-05-01T12:30:00Z", 6, "the claim of a pod says why it is not bound"},
	{"managed-elsewhere", "managed-elsewhere", "2023-08-21T10:03:01Z", 5, "another controller manages the Job"},
}

// result is the result of a run.
type result struct {
	Status int
	Stdout string
	Stderr string
}

func testEnvironment() Environment {
	now := time.Date(2023, 8, 21, 10, 0, 9, 999, time.UTC)
	return Environment{
		Name:   "jobfate",
		Getenv: func(string) string { return "" },
		Clock:  func() time.Time { return now },
		Catch:  func() (func() bool, func()) { return func() bool { return false }, func() {} },
	}
}

func runWith(stdin string, args ...string) result { return runIn(testEnvironment(), stdin, args...) }

// runIn runs the command in an environment, except for its input and output.
func runIn(env Environment, stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(stdin), &stdout, &stderr
	status := Run(args, env)
	return result{status, stdout.String(), stderr.String()}
}

func sampleFiles(name string) []string { return console.Files(filepath.Join(samples, name, "*")) }

// formats lists the outputs of a command, by the suffix of their golden files.
var formats = []struct {
	suffix string
	args   []string
}{
	{".txt", nil},
	{".ansi", []string{"--color", "always"}},
	{".json", []string{"-o", "json"}},
	{".yaml", []string{"-o", "yaml"}},
}

// TestGolden checks all of the output. Transcripts check that the exit status is 0 without --exit-status.
func TestGolden(t *testing.T) {
	for _, g := range goldens {
		args := append([]string{"explain", "--exit-status", "--now", g.now}, sampleFiles(g.sample)...)
		checkFormats(t, g.name, g.reason, g.status, args...)
	}
}

// checkFormats compares each output of a command with a file in testdata.
func checkFormats(t *testing.T, name, reason string, status int, args ...string) {
	for _, format := range formats {
		t.Run(name+format.suffix, func(t *testing.T) {
			got := runWith("", slices.Concat(args, format.args)...)
			if got.Status != status || got.Stderr != "" {
				t.Fatalf("got status %d and %q, want %d because %s", got.Status, got.Stderr, status, reason)
			}
			console.Golden(t, "testdata/"+name+format.suffix, got.Stdout)
		})
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestColorsOnlyColor checks that coloured text without its colours is the plain text, and
// that the YAML equals the JSON.
func TestColorsOnlyColor(t *testing.T) {
	for _, file := range console.Files("testdata/*.ansi") {
		base := strings.TrimSuffix(file, ".ansi")
		colored := console.Text(file)
		if got, want := escapes.ReplaceAllString(colored, ""), console.Text(base+".txt"); got != want || colored == want {
			t.Errorf("%s without colours: got\n%s\nwant\n%s", file, got, want)
		}
		want, got := cases.FromYAML(console.Text(base+".json")), cases.FromYAML(console.Text(base+".yaml"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s.yaml is not %s.json (-json +yaml):\n%s", base, base, diff)
		}
	}
}

// TestEverySampleIsGolden checks that each sample is used.
func TestEverySampleIsGolden(t *testing.T) {
	used := fmt.Sprint(goldens)
	for _, folder := range console.Files(samples + "/[a-z]*") {
		if !strings.Contains(used, " "+filepath.Base(folder)+" ") {
			t.Errorf("no test reads the sample %s", folder)
		}
	}
}

// tempFile writes a file in a new folder, and returns its path.
func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
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
	r := FromJSON[report]([]byte(runWith(input, "explain", "-o", "json").Stdout))
	if got := len(r.Creations) + len(r.Finalizers) + len(r.Indexes); len(r.Creations) != 500 || got < n {
		t.Errorf("JSON: got %d creations and %d entries, want 500 and at least %d", len(r.Creations), got, n)
	}
}

// TestColor checks when text is coloured.
func TestColor(t *testing.T) {
	files := sampleFiles("finished")
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
	if got := runIn(env, console.Text(sampleFiles("finished")[0]), "explain"); got.Status != exitOK || got.Stderr != "jobfate: reading standard input; end it with Ctrl-D\n" {
		t.Errorf("got status %d and %q, want a hint about the standard input", got.Status, got.Stderr)
	}
}

// printed returns the Job and its pods as kubectl get job,pods -o json does.
func printed(job *batchv1.Job, pods []*corev1.Pod) corev1.List {
	job = job.DeepCopy()
	job.APIVersion, job.Kind = "batch/v1", "Job"
	list := corev1.List{Items: []runtime.RawExtension{{Object: job}}}
	list.APIVersion, list.Kind = "v1", "List"
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.APIVersion, pod.Kind = "v1", "Pod"
		list.Items = append(list.Items, runtime.RawExtension{Object: pod})
	}
	return list
}

// TestRandomSnapshots explains random snapshots. Both formats must agree, and the
// order of the Job and the pods must not matter.
func TestRandomSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := jobtest.Snapshots(jobtest.Wild()).Draw(t, "snapshot")
		now := s.Now.UTC().Format(time.RFC3339)
		list := printed(s.Job, s.Pods)
		text := runWith(string(encode(list)), "explain", "--now", now)
		asJSON := runWith(string(encode(list)), "explain", "--now", now, "-o", "json")
		if text.Status != exitOK || asJSON.Status != exitOK {
			t.Fatalf("got %q and %q, want no error", text.Stderr, asJSON.Stderr)
		}
		r := FromJSON[report]([]byte(asJSON.Stdout))
		if want := r.Reason.Code + ": " + r.Reason.Text + "\n"; !strings.HasPrefix(text.Stdout, want) {
			t.Fatalf("got text\n%s\nwant it to begin with %q", text.Stdout, want)
		}
		steps := len(r.Claims) + len(r.Deletions) + len(r.Creations) + len(r.Status) + len(r.Finalizers) + len(r.Settled)
		if idle := strings.Contains(text.Stdout, "\nNext: nothing.\n"); idle != (steps == 0) {
			t.Fatalf("got text\n%s\nwhere the JSON has %d steps", text.Stdout, steps)
		}
		slices.Reverse(list.Items)
		Same(t, "the text of the objects in reverse", runWith(string(encode(list)), "explain", "--now", now).Stdout, text.Stdout)
	})
}
