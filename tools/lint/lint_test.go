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
	for _, a := range own {
		t.Run(a.Name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + a.Name + ".txtar")
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
			analysistest.Run(t, dir, a, mainModule+"/...")
		})
	}
}

// TestStyle breaks the rules of revive in files of the main and a nested module.
func TestStyle(t *testing.T) {
	root := t.TempDir()
	lines := func(n int) string { return strings.Repeat("\n", n) }
	for name, text := range map[string]string{
		"go.mod": "module m\n", "nested/go.mod": "module m/nested\n",
		"good/x.go":            "// Package good is good.\npackage good\n\n// A T is a type.\ntype T struct{}\n\nfunc (T) hidden() {}\n\n// The constants.\nconst (\n\tA = 1\n)\n",
		"bad/x.go":             "package bad\n\n// It is a type.\ntype T struct{}\n\nfunc (t *T) Get() {}\n\nvar V = 1\n\nconst (\n\tA = 1\n)\nvar http_x int\n",
		"long/x.go":            "// Package long is long.\npackage long\nfunc f() {\n\tf()" + lines(61) + "}\n" + lines(400),
		"long/x_test.go":       "package long\nfunc g() {\n\tg()" + lines(200) + "}\n",
		"nested/x.go":          "package nested\n\ntype T struct{}\nfunc g() {\n\tg()" + lines(101) + "}\n",
		"nested/x_test.go":     "package nested\n" + lines(600),
		"nested/testdata/x.go": "not Go", ".hidden/x.go": "not Go", "_old/x.go": "not Go",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := style(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"bad/x.go:11:2: exported const A should have comment",
		"bad/x.go:13:5: don't use underscores in Go names",
		"bad/x.go:1:1: should have a package comment",
		"bad/x.go:3:1: comment on exported type T should be",
		"bad/x.go:6:1: exported method T.Get should have comment",
		"bad/x.go:8:5: exported var V should have comment",
		"long/x.go:3:1: maximum number of lines per function exceeded; max 60 but got 61",
		"long/x.go:465: file length is 465 lines, which exceeds the limit of 400",
		"nested/x.go:4:1: maximum number of lines per function exceeded; max 100 but got 101",
		"nested/x_test.go:601: file length is 601 lines, which exceeds the limit of 600",
	}
	for i, finding := range got {
		got[i] = strings.TrimPrefix(finding, root+"/")
	}
	if len(got) != len(want) {
		t.Fatalf("got\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
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
	if want := slices.Sorted(slices.Values(dependencies)); !slices.Equal(direct, want) {
		t.Errorf("go.mod requires %q, want %q: what needs more belongs into a nested module", direct, want)
	}
}
