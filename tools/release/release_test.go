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

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
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

// TestRelease installs the commands of a release and builds a user of its modules, from a
// module proxy that has them.
func TestRelease(t *testing.T) {
	// A version is cached for good, so every run has its own, and removes it.
	version := fmt.Sprintf("v0.0.0-test.%d", time.Now().UnixNano())
	root, proxy, bin := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, "../..", "bash", "-c", copyFiles+root)
	run(t, root, "tools/release/rewrite", version)
	for _, dir := range []string{".", "controller", "jobtest/kube", "jobtest/live", "cmd/kubectl-jobfate"} {
		publish(t, filepath.Join(root, dir), proxy, version)
	}
	cache := strings.TrimSpace(run(t, root, "go", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+cache+"/cache/download,"+strings.TrimSpace(run(t, root, "go", "env", "GOPROXY")))
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", ours+","+ours+"/*")
	t.Setenv("GOBIN", bin)
	t.Cleanup(func() {
		run(t, cache, "find", "github.com/jobfate", "cache/download/github.com/jobfate", "-name", "*"+version+"*", "-prune", "-exec", "rm", "-rf", "{}", "+")
	})

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
