package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wrongFile is a file that users may give to a command by mistake. A file without a text does not exist.
type wrongFile struct{ name, text string }

func wrongFiles(t *testing.T) []wrongFile {
	whole := edit(t, "indexes-backing-off")
	job, pods, _ := strings.Cut(whole, "---\n")
	return []wrongFile{
		{"nowhere.yaml", ""},
		{"folder", ""},
		{"empty.yaml", "\n"},
		{"comments.yaml", "# a\n---\n# b\n"},
		{"deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {}\nstatus: {}\n"},
		{"cronjob.yaml", "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {}\nstatus: {}\n"},
		{"beta.yaml", "apiVersion: batch/v1beta1\nkind: Job\nmetadata: {name: a}\nspec: {}\nstatus: {}\n"},
		{"half.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n"},
		{"half.json", `{"apiVersion": "batch/v1", "kind": "Job",` + "\n" + `"metadata": {"name": "a"}, "sp`},
		{"mistyped.yaml", strings.Replace(job, "completions: 8", "completions: eight", 1)},
		{"cut.yaml", whole[:strings.LastIndex(whole, "data:")]},
		{"pods.yaml", pods},
		{"notfound.txt", "Error from server (NotFound): jobs.batch \"x\" not found\n"},
		{"list.yaml", "- a\n- b\n"},
		{"text.txt", "just text\n"},
		{"junk.bin", "\x7fELF\x02\x01\x01\x00\xff\xfe\x00\x80"},
		{"utf16.yaml", "\xff\xfek\x00i\x00n\x00d\x00:\x00"},
	}
}

// TestWrongFiles gives each command wrong files. The error must name the file, and the exit
// status must be that of unreadable input.
func TestWrongFiles(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "wrong-files.txt"))
	if err != nil {
		t.Fatal(err)
	}
	files, job := wrongFiles(t), readFile(t, simulated("job"))
	t.Chdir(t.TempDir())
	writeFile(t, "job.yaml", job)
	for _, f := range files {
		if f.text != "" {
			writeFile(t, f.name, f.text)
		}
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, command := range []string{"explain %s", "validate %s", "validate --status %s", "validate --old %s job.yaml",
		"simulate %s", "simulate --against %s job.yaml", "simulate --scenario %s job.yaml"} {
		for _, f := range files {
			name := f.name
			line := fmt.Sprintf(command, name)
			got := runWith("", strings.Fields(line)...)
			fmt.Fprintf(&all, "$ jobfate %s\n%s", line, got.Stdout+got.Stderr)
			if got.Status != exitOK {
				fmt.Fprintf(&all, "exit status %d\n", got.Status)
			}
			if strings.HasPrefix(got.Stdout, name+":") && (got.Status == exitNo || strings.Contains(got.Stdout, "half.yaml:1:1: warning: ")) || strings.HasSuffix(line, "half.yaml job.yaml") && got.Status == exitNo {
				continue // the file has a Job, which is validated
			}
			if name == "cut.yaml" && got.Status == exitInput && strings.Contains(got.Stdout, "job-backoff-limit-per-index-execute-all") {
				continue // its Job is not cut
			}
			if got.Status != exitInput || got.Stdout != "" || !strings.Contains(got.Stderr, name) {
				t.Errorf("%s: got status %d, %q and %q, want status %d and the name of the file", line, got.Status, got.Stdout, got.Stderr, exitInput)
			}
		}
	}
	checkGoldenFile(t, golden, all.String())
}
