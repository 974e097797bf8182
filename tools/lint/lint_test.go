package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
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
			files := map[string]string{}
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			dir, cleanup, err := analysistest.WriteFiles(files)
			if err != nil {
				t.Fatal(err)
			}
			defer cleanup()
			analysistest.Run(t, dir, own(filepath.Join(dir, "src", mainModule))[i], mainModule+"/...")
		})
	}
}

// TestDependencies: the main module requires what rules.go names.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	slices.Sort(direct)
	if want := slices.Sorted(strings.FieldsSeq(dependencies)); !slices.Equal(direct, want) {
		t.Errorf("go.mod requires %q, want %q: what needs more belongs into a nested module", direct, want)
	}
}
