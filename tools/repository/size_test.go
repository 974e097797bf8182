package repository

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/zip"
)

// Who requires the main module downloads at most 3 MB, with at most 40,000 lines of Go.
func TestSize(t *testing.T) {
	files, err := zip.CheckDir(root)
	if err != nil {
		t.Fatal(err)
	}
	size, lines := 0, 0
	for _, name := range files.Valid {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		if filepath.Ext(name) == ".go" {
			lines += bytes.Count(data, []byte("\n"))
		}
	}
	t.Logf("%d files, %d bytes, %d lines of Go", len(files.Valid), size, lines)
	if size > 3_000_000 || lines > 40_000 {
		t.Errorf("the main module has %d bytes and %d lines of Go, want at most 3,000,000 and 40,000", size, lines)
	}
}
