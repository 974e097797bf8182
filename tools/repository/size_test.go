package repository

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/zip"
)

// The main module has at most 2.3 MB and this many lines of Go, in explain, in group, and in all
// other packages.
func TestSize(t *testing.T) {
	most := map[string]int{"explain": 1_300, "group": 6_400, "": 31_900}
	files := must(zip.CheckDir(root))
	size, lines := 0, map[string]int{}
	for _, name := range files.Valid {
		data := must(os.ReadFile(name))
		size += len(data)
		name, _ = filepath.Rel(root, name)
		folder, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if most[folder] == 0 {
			folder = ""
		}
		if filepath.Ext(name) == ".go" {
			lines[folder] += bytes.Count(data, []byte("\n"))
		}
	}
	t.Logf("%d files, %d bytes, lines of Go: %v", len(files.Valid), size, lines)
	if size > 2_300_000 {
		t.Errorf("the main module has %d bytes, want at most 2,300,000", size)
	}
	for folder, n := range most {
		if lines[folder] == 0 || lines[folder] > n {
			t.Errorf("%q has %d lines of Go, want at most %d", folder, lines[folder], n)
		}
	}
}

// No program is committed: the largest file is a table of vectors with 0.3 MB.
func TestSize_ofCommittedFiles(t *testing.T) {
	out := must(exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output())
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if size := must(os.Stat(filepath.Join(root, name))).Size(); size > 1_000_000 {
			t.Errorf("%s has %d bytes, want at most 1,000,000", name, size)
		}
	}
}
