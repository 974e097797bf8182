package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// users imports what a release offers beside the commands.
const users = `package users

import (
	_ "github.com/jobfate/jobfate"
	_ "github.com/jobfate/jobfate/controller"
	_ "github.com/jobfate/jobfate/jobtest/kube"
	_ "github.com/jobfate/jobfate/jobtest/live"
)
`

// TestRelease installs the commands of a release and builds a user of its modules, from a
// module proxy that has them.
func TestRelease(t *testing.T) {
	// A version is cached for good, so every run has its own, and removes it.
	version := fmt.Sprintf("v0.0.0-test.%d", time.Now().UnixNano())
	root, proxy, bin := t.TempDir(), t.TempDir(), t.TempDir()
	copyRepository(t, root)
	if err := release(version, root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", "controller", "jobtest/kube", "jobtest/live", "cmd/kubectl-jobfate"} {
		publish(t, filepath.Join(root, dir), proxy, version)
	}
	cache := strings.TrimSpace(run(t, root, "go", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+cache+"/cache/download,"+strings.TrimSpace(run(t, root, "go", "env", "GOPROXY")))
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", ours+","+ours+"/*")
	t.Setenv("GOBIN", bin)
	t.Cleanup(func() { removeVersion(t, cache, version) })

	run(t, t.TempDir(), "go", "install", ours+"/cmd/jobfate@"+version)
	run(t, t.TempDir(), "go", "install", ours+"/cmd/kubectl-jobfate@"+version)
	if out := run(t, root, filepath.Join(bin, "jobfate"), "--version"); !strings.Contains(out, version) {
		t.Errorf("jobfate --version prints %q, want %s", out, version)
	}

	user := t.TempDir()
	if err := os.WriteFile(filepath.Join(user, "users.go"), []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, user, "go", "mod", "init", "example.com/users")
	run(t, user, "go", "get", ours+"@"+version, ours+"/controller@"+version, ours+"/jobtest/kube@"+version, ours+"/jobtest/live@"+version)
	run(t, user, "go", "build", "./...")
}

func TestRelease_rejectsAVersion(t *testing.T) {
	if err := release("0.1", t.TempDir()); err == nil {
		t.Error("got no error for 0.1")
	}
}

// copyRepository copies what git knows of this repository.
func copyRepository(t *testing.T, to string) {
	t.Helper()
	from := filepath.Join("..", "..")
	for name := range strings.SplitSeq(run(t, from, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		text, err := os.ReadFile(filepath.Join(from, name))
		if name == "" || os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// publish adds the module in a folder to a module proxy.
func publish(t *testing.T, dir, proxy, version string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	m := module.Version{Path: modfile.ModulePath(mod), Version: version}
	to := filepath.Join(proxy, m.Path, "@v")
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := zip.CreateFromDir(archive, m, dir); err != nil {
		t.Fatal(err)
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	for name, text := range map[string]string{version + ".mod": string(mod), version + ".info": info, "list": version + "\n"} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// removeVersion removes a version of our modules from the module cache.
func removeVersion(t *testing.T, cache, version string) {
	t.Helper()
	for _, top := range []string{cache, filepath.Join(cache, "cache", "download")} {
		_ = filepath.WalkDir(filepath.Join(top, "github.com", "jobfate"), func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.Contains(d.Name(), version) {
				if err := os.RemoveAll(path); err != nil {
					t.Error(err)
				}
				if d.IsDir() {
					return filepath.SkipDir
				}
			}
			return nil
		})
	}
}

// run runs a command and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, errs.String())
	}
	return string(out)
}
