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
	for i, name := range []string{"depguard", "forbidigo", "pure", "inputs", "conditions"} {
		t.Run(name, func(t *testing.T) {
			packages := must(txtar.FS(must(txtar.ParseFile("testdata/" + name + ".txtar"))))
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "src"), packages); err != nil {
				t.Fatal(err)
			}
			for _, r := range analysistest.Run(t, dir, own(filepath.Join(dir, "src", mainModule))[i], mainModule+"/...") {
				for _, d := range r.Diagnostics {
					if d.Category != "" {
						t.Errorf("the command does not show %q, which is in the category %s", d.Message, d.Category)
					}
				}
			}
		})
	}
}
