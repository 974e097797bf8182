package server

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The flag -kubernetes chooses the release of the API server and of the built-in controllers.
func TestRelease(t *testing.T) {
	want := "v" + *release
	if *release == "" {
		own, err := os.ReadFile("../../go.mod")
		if err != nil {
			t.Fatal(err)
		}
		want = regexp.MustCompile(`k8s\.io/kubernetes (v\S+)`).FindStringSubmatch(string(own))[1]
	}
	for _, program := range []string{api.apiProgram, api.builds.paths[controllerManager]} {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Main.Version; got != want {
			t.Errorf("%s is of %s %s, want %s", info.Path, info.Main.Path, got, want)
		}
	}
}

// The libraries and the version of Go are those of the release: 1.38 has more libraries than 1.37, and needs Go 1.27.
func TestModuleFor(t *testing.T) {
	got := moduleFor("1.38.0-beta.0", `module k8s.io/kubernetes

go 1.27.0

godebug default=go1.27

require (
	k8s.io/api v0.0.0
	sigs.k8s.io/yaml v1.6.0
)

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/apiextensions-api => ./staging/src/k8s.io/apiextensions-api
)
`)
	const want = `module server
go 1.27.0
replace k8s.io/api => k8s.io/api v0.38.0-beta.0
replace k8s.io/apiextensions-api => k8s.io/apiextensions-api v0.38.0-beta.0
replace sigs.k8s.io/structured-merge-diff/v7 v7.0.1 => sigs.k8s.io/structured-merge-diff/v7 v7.0.0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is moved to a library imports the rest of it there, and what is not moved from where it was.
func TestMove(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	const before = `package v1

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/client/listers"
)
`
	const want = `package v1

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-api/pkg/client/listers"
)
`
	folder := moved[0]
	if err := os.MkdirAll(filepath.Join(from, folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"types.go", "types_test.go"} {
		if err := os.WriteFile(filepath.Join(from, folder, name), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := move(from, folder, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, folder, "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(to, folder, "types_test.go")); err == nil {
		t.Error("a test is moved, too")
	}
}
