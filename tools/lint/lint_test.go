package main

import (
	"os"
	"os/exec"
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

// TestDependencies: what needs more requirements than these belongs into a nested module.
func TestDependencies(t *testing.T) {
	const want = `github.com/google/go-cmp
go.yaml.in/yaml/v3
k8s.io/api
k8s.io/apimachinery
pgregory.net/rapid
sigs.k8s.io/yaml
`
	list := exec.Command("go", "list", "-m", "-f", "{{if not (or .Main .Indirect)}}{{.Path}}{{end}}", "all")
	list.Dir = "../.."
	if got, err := list.Output(); err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
