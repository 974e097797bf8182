package cli

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
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
