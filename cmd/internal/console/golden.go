package console

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobfate/jobfate/internal/podtest"
)

var update = flag.Bool("update", false, "rewrite the files that the tests compare with the output")

// Text returns the text of a file.
func Text(name string) string { return string(podtest.Must(os.ReadFile(name))) }

// Files returns the files whose names match a pattern. It must match some.
func Files(pattern string) []string {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("%s: %d files, %v", pattern, len(files), err))
	}
	return files
}

// Golden compares the text of a file with the output. With -update it becomes the output.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		podtest.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	if diff := cmp.Diff(Text(path), got); diff != "" {
		t.Errorf("%s (-want +got; the flag -update accepts the new output):\n%s", path, diff)
	}
}

// block matches a block of a page: a file whose first line is its name, or commands with their output.
var block = regexp.MustCompile("(?ms)^(```(?:yaml\n# (\\S+\\.yaml)|console)\n)(.*?)^```\n")

// Blocks compares the blocks of a page that have commands, or begin with the name of a file, with what a function
// returns for them.
func Blocks(t *testing.T, page string, now func(file, text string) string) {
	t.Helper()
	Golden(t, page, block.ReplaceAllStringFunc(Text(page), func(all string) string {
		m := block.FindStringSubmatch(all)
		return m[1] + now(m[2], m[3]) + "```\n"
	}))
}

// Transcript plays the transcript in a file, with the exit statuses other than 0, and compares it. It does so in a new
// folder with the files of others, after the commands of another transcript.
func (p Player) Transcript(t *testing.T, file, before string, folders ...string) {
	t.Helper()
	path, folder := podtest.Must(filepath.Abs(file)), t.TempDir()
	for _, from := range folders {
		podtest.NoError(t, os.CopyFS(folder, os.DirFS(from)))
	}
	t.Chdir(folder)
	p.Play(t, before)
	p.statuses = true
	Golden(t, path, p.Play(t, Text(path)))
}
