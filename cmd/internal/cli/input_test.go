package cli

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/jobfate/jobfate/cmd/internal/console"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// TestReadingProgress checks what a terminal shows while much is read.
func TestReadingProgress(t *testing.T) {
	pods := "---\napiVersion: v1\nitems:\n" + strings.Repeat("- apiVersion: v1\n  kind: Pod\n  metadata: {name: "+strings.Repeat("p", 1000)+"}\n  spec: {}\n  status: {}\n", 1500) + "kind: List\n"
	env := slowEnvironment(time.Minute, 0)
	env.StderrTerminal = true
	got := runIn(env, console.Text(manifest("elastic.yaml"))+pods, "validate")
	if shown, rest, ok := cutLast(got.Stderr, clearLine); !ok || rest != "" || !strings.Contains(shown, clearLine+"0 of 1 MB read") {
		t.Errorf("got %q, want progress that is cleared", got.Stderr)
	}
	Same(t, "the progress of YAML", reading("YAML", 5<<20, 11<<20), "5 of 11 MB read; kubectl -o json would be faster")
	Same(t, "the progress of JSON", reading("JSON", 5<<20, 11<<20), "5 of 11 MB read")
}

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2023, 8, 21, 12, 0, 9, 999, zone)
	for text, want := range map[string]string{
		"2023-08-21T10:00:00Z": "2023-08-21T10:00:00Z", "2023-08-21T10:00:00.5+01:00": "2023-08-21T09:00:00.5Z",
		"2023-08-21T10:00:00": "2023-08-21T08:00:00Z", "2023-08-21T10:00": "2023-08-21T08:00:00Z", "2023-08-21 10:00:05": "2023-08-21T08:00:05Z", "2023-08-21 10:00": "2023-08-21T08:00:00Z",
		"2023-08-21": "2023-08-20T22:00:00Z", "-10m": "2023-08-21T09:50:09Z", "+1h30m": "2023-08-21T11:30:09Z", "-0s": "2023-08-21T10:00:09Z",
		"10m": "", "noon": "", "": "", "-": "", "10:00": "", "-10": "",
	} {
		got, err := parseTime(text, now)
		if (err != nil) != (want == "") || err == nil && got.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%q: got %s and %v, want %q", text, got, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"--version", "-version", "version"} {
		if got := runWith("", arg); got.Status != exitOK || !strings.HasPrefix(got.Stdout, "jobfate ") || !strings.Contains(got.Stdout, "go1.") || strings.Count(got.Stdout, "\n") != 1 {
			t.Errorf("%s: got status %d and %q", arg, got.Status, got.Stdout)
		}
	}
}

func TestIndexes_inputThatCannotBeRead(t *testing.T) {
	env := testEnvironment()
	env.Stdin = iotest.ErrReader(errors.New("the disk is broken"))
	if err := indexes(env, []string{"count", "-"}); err == nil || err.Error() != "the disk is broken" {
		t.Errorf("got %v, want the error of the standard input", err)
	}
}
