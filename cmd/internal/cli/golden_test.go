package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

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

func sampleFiles(t *testing.T, name string) []string {
	t.Helper()
	return glob(t, filepath.Join(samples, name, "*"))
}

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

func TestGolden(t *testing.T) {
	for _, g := range goldens {
		args := append([]string{"explain", "--now", g.now}, sampleFiles(t, g.sample)...)
		checkFormats(t, g.name, g.reason, exitOK, args...)
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
			checkGolden(t, name+format.suffix, got.Stdout)
		})
	}
}

// checkGolden compares an output with a file in testdata.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	checkGoldenFile(t, filepath.Join("testdata", name), got)
}

func checkGoldenFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		writeFile(t, path, got)
	}
	if diff := cmp.Diff(readFile(t, path), got); diff != "" {
		t.Errorf("%s (-want +got; go -C cmd test ./internal/cli -update accepts the new output):\n%s", path, diff)
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestColorsOnlyColor checks that coloured text without its colours is the plain text, and
// that the YAML equals the JSON.
func TestColorsOnlyColor(t *testing.T) {
	for _, file := range glob(t, "testdata/*.ansi") {
		base := strings.TrimSuffix(file, ".ansi")
		colored := readFile(t, file)
		if got, want := escapes.ReplaceAllString(colored, ""), readFile(t, base+".txt"); got != want || colored == want {
			t.Errorf("%s without colours: got\n%s\nwant\n%s", file, got, want)
		}
		want, got := fromYAML[any](t, readFile(t, base+".json")), fromYAML[any](t, readFile(t, base+".yaml"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s.yaml is not %s.json (-json +yaml):\n%s", base, base, diff)
		}
	}
}

// TestEverySampleIsGolden checks that each sample is used.
func TestEverySampleIsGolden(t *testing.T) {
	used := map[string]bool{"README.md": true}
	for _, g := range goldens {
		used[g.sample] = true
	}
	entries, err := os.ReadDir(samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !used[e.Name()] {
			t.Errorf("no test reads the sample %s", e.Name())
		}
	}
}

// TestOrderOfInput checks that neither the order of files nor that of documents
// matters.
func TestOrderOfInput(t *testing.T) {
	files := sampleFiles(t, "indexes-backing-off")
	want := runWith("", "explain", files[0], files[1])
	if got := runWith("", "explain", files[1], files[0]); got != want {
		t.Errorf("files swapped: got %+v, want %+v", got, want)
	}
	first, second := readFile(t, files[0]), readFile(t, files[1])
	for _, stdin := range []string{first + "---\n" + second, second + "---\n" + first} {
		if got := runWith(stdin, "explain"); got != want {
			t.Errorf("from standard input: got %+v, want %+v", got, want)
		}
	}
	if got := runWith(second, "explain", files[0], "-"); got != want {
		t.Errorf("partly from standard input: got %+v, want %+v", got, want)
	}
}

func readFile(t rapid.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t rapid.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tempFile writes a file in a new folder, and returns its path.
func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writeFile(t, path, text)
	return path
}

// fromJSON returns the value of a text.
func fromJSON[T any](t rapid.TB, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}

// fromYAML returns the value of a text.
func fromYAML[T any](t rapid.TB, text string) (value T) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return value
}
