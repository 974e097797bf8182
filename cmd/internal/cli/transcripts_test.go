package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/cmd/internal/console"
)

// TestTranscripts plays testdata/transcripts, in folders with the test data.
func TestTranscripts(t *testing.T) {
	for _, file := range glob(t, "testdata/transcripts/*.txt") {
		t.Run(filepath.Base(file), func(t *testing.T) { checkTranscript(t, file, "testdata/transcripts/*.yaml", "") })
	}
}

// TestWrongFiles gives each command the files that users may give by mistake. The error must name the file, and the
// exit status must be that of unreadable input, unless the file has a Job.
func TestWrongFiles(t *testing.T) {
	checkTranscript(t, "testdata/wrong-files.txt", "testdata/wrong/*", `
$ cat simulations/job.yaml > job.yaml
$ cat samples/indexes-backing-off/pods.yaml > pods.yaml
$ cat samples/indexes-backing-off/job.yaml | edit 'completions: 8' 'completions: eight' > mistyped.yaml
$ cat samples/indexes-backing-off | edit 'metadata:\n  resourceVersion: ""\n' meta > cut.yaml
`)
}

// TestUsageScenario runs the scenario in the usage, with some of its pods at once and with all.
func TestUsageScenario(t *testing.T) {
	_, text, _ := strings.Cut(simulateUsage, "Every field is optional:\n")
	text, _, _ = strings.Cut(text, "\nWith an existing Job")
	checkTranscript(t, "testdata/usage-scenario.txt", "testdata/transcripts/*.yaml", "$ cat - > scenario.yaml <<.\n"+text+".\n")
}

// checkTranscript plays a transcript in a new folder with the test data and further files, after other commands.
func checkTranscript(t *testing.T, file, files, before string) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range append(glob(t, "../../testdata/*"), glob(t, files)...) {
		target, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, filepath.Base(name))); err != nil {
			t.Fatal(err)
		}
	}
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	play(t, before, false)
	checkGoldenFile(t, path, play(t, readFile(t, path), true))
}

// play runs the commands of a transcript and returns it with what they print.
func play(t *testing.T, text string, statuses bool) string {
	t.Helper()
	player := console.Player{Statuses: statuses, Run: func(words []string, stdin string) (int, string, string, error) {
		if words[0] != "jobfate" {
			return 0, "", "", fmt.Errorf("%q is not a command that this test can run", words[0])
		}
		got := runWith(stdin, words[1:]...)
		return got.Status, got.Stdout, got.Stderr, nil
	}}
	text, err := player.Play(text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
