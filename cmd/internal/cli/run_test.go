package cli

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

// brokenWriter is on a full disk.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestOutputThatCannotBeWritten checks that an error is reported. TestProcess checks that a closed pipe ends quietly.
func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	env := testEnvironment()
	env.Stdout, env.Stderr = brokenWriter{}, &stderr
	status := Run(append([]string{"explain"}, sampleFiles("finished")...), env)
	checkResult(t, result{Status: status, Stderr: stderr.String()}, exitInput, "", "jobfate explain: no space left on device\n")
}

// slowEnvironment returns an environment whose clock advances by a step at each call. It is
// interrupted after interruptAfter checks; 0 is never.
func slowEnvironment(step time.Duration, interruptAfter int) Environment {
	env := testEnvironment()
	now, asked := env.Clock(), 0
	env.Clock = func() time.Time {
		now = now.Add(step)
		return now
	}
	env.Catch = func() (func() bool, func()) {
		return func() bool {
			asked++
			return interruptAfter > 0 && asked > interruptAfter
		}, func() {}
	}
	return env
}

// TestProgress checks when a long run shows its progress, and that the progress is cleared.
func TestProgress(t *testing.T) {
	job, scenario := simulated("job"), simulated("chances")
	once, many := []string{"simulate", "--scenario", scenario, job}, []string{"simulate", "--runs", "5", "--scenario", scenario, job}
	quiet := append([]string{"simulate", "--quiet"}, many[1:]...)
	for _, tc := range []struct {
		reason string
		told   bool
		term   string
		step   time.Duration
		args   []string
		want   string // part of the progress; empty: none
		fails  bool
	}{
		{"no terminal", false, "", time.Minute, many, "jobfate: 4 of 5 runs, 0s simulated, 0 pods\n", false},
		{"a terminal without a cursor", true, "dumb", time.Minute, many, "jobfate: 4 of 5 runs, 0s simulated, 0 pods\n", false},
		{"quiet", false, "", time.Minute, quiet, "", false},
		{"quiet, on a terminal", true, "", time.Minute, quiet, "", false},
		{"a short run", true, "", time.Microsecond, many, "", false},
		{"one long run", true, "", time.Minute, once, "\r\x1b[K0s simulated, 0 pods\r\x1b[K", false},
		{"many runs", true, "", time.Minute, many, "\r\x1b[K4 of 5 runs, 0s simulated, 0 pods", false},
		{"an error after a while", true, "", time.Minute, []string{"simulate", job, "--scenario", simulated("refused")}, "\r\x1b[K1s simulated, 3 pods", true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			env := slowEnvironment(tc.step, 0)
			env.StderrTerminal, env.Getenv = tc.told, func(name string) string { return map[string]string{"TERM": tc.term}[name] }
			got := runIn(env, "", tc.args...)
			checkPart(t, "stderr", got.Stderr, tc.want)
			_, errors, cleared := cutLast(got.Stderr, clearLine)
			if onLine := strings.HasPrefix(tc.want, clearLine); cleared != onLine || onLine && (errors != "") != tc.fails {
				t.Errorf("got %q, want lines that stay, or one that is cleared, and then an error: %t", got.Stderr, tc.fails)
			}
			if (got.Status != exitOK) != tc.fails || (got.Stdout == "") != tc.fails {
				t.Errorf("got status %d and %q, want an error: %t", got.Status, got.Stdout, tc.fails)
			}
		})
	}
}

// cutLast cuts a text at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}

// TestInterrupted checks that the results so far are printed, and the exit status.
func TestInterrupted(t *testing.T) {
	job, other, scenario := simulated("job"), simulated("other-job"), simulated("chances")
	for _, tc := range []struct {
		reason         string
		after          int
		args           []string
		stdout, stderr string
	}{
		{"one run", 10, nil, "Interrupted after ", ""},
		{"one run, as a picture", 10, []string{"-o", "svg"}, "Interrupted after ", ""},
		{"one run, as JSON", 10, []string{"-o", "json"}, `"end": "Interrupted"`, ""},
		{"two Jobs", 10, []string{"--against", other}, "outcome   Interrupted ", ""},
		{"many runs", 200, []string{"--runs", "90000"}, " of 90000 runs: ", ""},
		{"many runs, as JSON", 200, []string{"--runs", "90000", "-o", "json"}, `"interrupted": true`, ""},
		{"many runs of two Jobs", 300, []string{"--runs", "90000", "--against", other}, " of 90000 runs each, with the same random values", ""},
		{"in the first of many runs", 5, []string{"--runs", "90000"}, "", "jobfate simulate: interrupted before the first run ended\n"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got := runIn(slowEnvironment(0, tc.after), "", append([]string{"simulate", "--scenario", scenario, job}, tc.args...)...)
			checkResult(t, got, exitInterrupted, tc.stdout, tc.stderr)
		})
	}
}

// TestBashCompletes lets bash complete command lines.
func TestBashCompletes(t *testing.T) {
	script := runWith("", "completion", "bash").Stdout
	for _, tc := range []struct {
		words string // after jobfate; the last is completed
		want  []string
	}{
		{"ex", []string{"explain"}},
		{"explain --ma", []string{"--managed-by", "--max-input"}},
		{"explain job.yaml --exit", []string{"--exit-status"}},
		{"validate -o s", []string{"sarif"}},
		{"explain --color a", []string{"auto", "always"}},
		{"indexes c", []string{"count", "contains"}},
		{"completion f", []string{"fish"}},
		{"validate completion", []string{"completion.go"}},
		{"explain --now timeline", []string{"timeline.go", "timeline_lines.go"}},
	} {
		program := script + "COMP_WORDS=(jobfate " + tc.words + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _jobfate; printf '%s\\n' \"${COMPREPLY[@]}\""
		out, err := exec.Command("bash", "-euc", program).CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		slices.Sort(tc.want)
		if err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q and %v, want %q", tc.words, got, err, tc.want)
		}
	}
}
