package repository

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/zip"
)

// The main module has at most 3 MB and this many lines of Go, in explain, in group, and in all
// other packages.
func TestSize(t *testing.T) {
	most := map[string]int{"explain": 6_450, "group": 4_100, "": 34_400}
	files, err := zip.CheckDir(root)
	if err != nil {
		t.Fatal(err)
	}
	size, lines := 0, map[string]int{}
	for _, name := range files.Valid {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
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
	if size > 3_000_000 {
		t.Errorf("the main module has %d bytes, want at most 3,000,000", size)
	}
	for folder, n := range most {
		if lines[folder] == 0 || lines[folder] > n {
			t.Errorf("%q has %d lines of Go, want at most %d", folder, lines[folder], n)
		}
	}
}
