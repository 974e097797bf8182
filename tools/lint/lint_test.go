package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/txtar"
)

// TestAnalyzers runs each analyzer on the packages of testdata, which say what it finds.
func TestAnalyzers(t *testing.T) {
	for i, name := range []string{"depguard", "forbidigo", "pure", "inputs"} {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			packages, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "src"), packages); err != nil {
				t.Fatal(err)
			}
			analysistest.Run(t, dir, own(filepath.Join(dir, "src", mainModule))[i], mainModule+"/...")
		})
	}
}
