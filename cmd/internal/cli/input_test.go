package cli

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestInputLimit(t *testing.T) {
	text := strings.Replace(readFile(t, manifest("elastic.yaml")), "metadata:\n", "metadata:\n  uid: u\n", 1) + "status: {}\n"
	large := text + strings.Repeat("# a comment\n", 100)
	file, size := tempFile(t, "job.yaml", large), strconv.Itoa(len(large))
	for _, tc := range []struct {
		reason, limit, stdin string
		status               int
		want                 string // part of stderr; empty if that is
	}{
		{"a file of the size of the limit", size, "", exitOK, ""},
		{"of more", "1k", "", exitInput, file + ": the input is larger than 1k; raise the limit with --max-input"},
		{"all files together", size, text, exitInput, "standard input: the input is larger than " + size + "; raise the limit with --max-input"},
		{"no quantity", "many", "", exitUsage, `invalid value "many" for flag -max-input: want a quantity, as in 1Gi`},
		{"no bytes at all", "0", "", exitUsage, `invalid value "0" for flag -max-input`},
	} {
		for _, command := range []string{"validate", "explain"} {
			files := []string{file}
			if tc.stdin != "" {
				files = append(files, "-")
			}
			got := runWith(tc.stdin, append([]string{command, "--max-input", tc.limit}, files...)...)
			if got.Status != tc.status || (tc.want == "") != (got.Stderr == "") || !strings.Contains(got.Stderr, tc.want) {
				t.Errorf("%s, %s: got status %d and %q, want %d and %q", command, tc.reason, got.Status, got.Stderr, tc.status, tc.want)
			}
		}
	}
	// A device that does not end.
	if got := runWith("", "explain", "/dev/zero"); got.Status != exitInput || !strings.Contains(got.Stderr, "/dev/zero: this is binary data") {
		t.Errorf("/dev/zero: got status %d and %q", got.Status, got.Stderr)
	}
}

// TestReadingProgress checks what a terminal shows while much is read.
func TestReadingProgress(t *testing.T) {
	pods := "---\napiVersion: v1\nitems:\n" + strings.Repeat("- apiVersion: v1\n  kind: Pod\n  metadata: {name: "+strings.Repeat("p", 1000)+"}\n  spec: {}\n  status: {}\n", 1500) + "kind: List\n"
	env := slowEnvironment(time.Minute, 0)
	env.StderrTerminal = true
	got := runIn(env, readFile(t, manifest("elastic.yaml"))+pods, "validate")
	if shown, rest, ok := cutLast(got.Stderr, clearLine); !ok || rest != "" || !strings.Contains(shown, clearLine+"0 of 1 MB read") {
		t.Errorf("got %q, want progress that is cleared", got.Stderr)
	}
	if got, want := reading("YAML", 5<<20, 11<<20), "5 of 11 MB read; kubectl -o json would be faster"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := reading("JSON", 5<<20, 11<<20), "5 of 11 MB read"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
