// Package release_test makes a release and uses it.
package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const ours = "github.com/jobfate/jobfate"

// users imports what a release offers beside the commands.
const users = `package users

import (
	_ "github.com/jobfate/jobfate"
	_ "github.com/jobfate/jobfate/controller"
	_ "github.com/jobfate/jobfate/jobtest/kube"
	_ "github.com/jobfate/jobfate/jobtest/live"
)
`

// copyFiles copies what git knows of, and is there.
const copyFiles = `git ls-files -z --cached --others --exclude-standard |
	while IFS= read -rd '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	xargs -0 cp --parents -t `

// makeRelease makes a release of a copy.
const makeRelease = `git init -q && git config user.name tests && git config user.email tests@example.com &&
	git add -A && git commit -qm "A copy" && make release VERSION=`

// clean removes what a module cache has of a version, and of the repository.
const clean = `find github.com/jobfate cache/download/github.com/jobfate -name "*$0*" -prune -exec rm -rf {} +
	for info in $(grep -l https://github.com/jobfate/jobfate cache/vcs/*.info); do rm -rf "$info" "${info%.info}" "${info%.info}.lock"; done`

// TestRelease installs the commands of a release and builds a user of its modules: the go command
// finds the repository of the release where it looks for ours.
func TestRelease(t *testing.T) {
	// A version is cached for good, so every run has its own, and removes it.
	version := fmt.Sprintf("v0.0.0-test.%d", time.Now().UnixNano())
	root, bin := t.TempDir(), t.TempDir()
	run(t, "../..", "bash", "-c", copyFiles+root)
	run(t, root, "bash", "-c", makeRelease+version)
	cache := strings.TrimSpace(run(t, root, "go", "env", "GOMODCACHE"))
	t.Cleanup(func() { run(t, cache, "bash", "-c", clean, version) })
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.file://"+root+".insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "https://"+ours)
	t.Setenv("GOPRIVATE", ours)
	t.Setenv("GOPROXY", "file://"+cache+"/cache/download,"+strings.TrimSpace(run(t, root, "go", "env", "GOPROXY")))
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOBIN", bin)

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
