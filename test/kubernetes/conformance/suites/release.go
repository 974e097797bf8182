package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// release is a release of Kubernetes whose tests are run.
type release struct {
	version   string // for example 1.37.2
	dir       string // the folder of k8s.io/kubernetes in the module cache
	module    string // the folder of this module
	modfile   string // the go.mod to use; empty: that of this module
	toolchain toolchain
}

// pinned returns the release that this module requires.
func pinned(ctx context.Context) (release, error) {
	mod, err := toolchain("").output(ctx, ".", "env", "GOMOD") // tests run in the folder of their package
	if err != nil {
		return release{}, err
	}
	module := filepath.Dir(string(mod))
	return download(ctx, "", module, module, "k8s.io/kubernetes")
}

// download makes sure that a release is in the module cache. The go command runs in dir, and resolves
// name there.
func download(ctx context.Context, tool toolchain, module, dir, name string) (release, error) {
	var found struct{ Version, Dir string }
	err := tool.read(ctx, dir, &found, "mod", "download", "-json", name)
	version := strings.TrimPrefix(found.Version, "v")
	return release{version: version, dir: found.Dir, module: module, toolchain: tool}, err
}

// minor returns the minor version: 37 for 1.37.2.
func (r release) minor() int {
	parts := strings.Split(r.version, ".")
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		panic(err) // the go command has accepted the version
	}
	return n
}

// test runs go test with the release.
func (r release) test(ctx context.Context, overlay string, args ...string) ([]result, error) {
	args = slices.Concat([]string{"test", "-json", "-vet=off", "-count=1"}, r.flags(overlay), args)
	return runTests(r.toolchain.command(ctx, r.module, args...))
}

// flags returns the flags with which go test compiles the release, and the tests know its version.
func (r release) flags(overlay string) []string {
	version := thisModule + "/conformance/kubernetes.version=" + r.version
	flags := []string{"-overlay", overlay, "-ldflags", "-X " + version}
	if r.modfile != "" {
		flags = append(flags, "-mod=mod", "-modfile", r.modfile)
	}
	return flags
}

// thisModule is the path of this module.
const thisModule = ours + "/test/kubernetes"

// toolchain is the version of Go that the go command uses, as in GOTOOLCHAIN; empty: the one that runs this
// program.
type toolchain string

// toolchainFor returns the version of Go that a module needs, such as k8s.io/kubernetes@v1.37.2, if it is
// newer than the one that runs.
func toolchainFor(ctx context.Context, dir, module string) (toolchain, error) {
	var found struct{ GoMod string }
	if err := toolchain("").read(ctx, dir, &found, "list", "-m", "-json", module); err != nil {
		return "", err
	}
	mod, err := toolchain("").readMod(ctx, dir, found.GoMod)
	if needed := "go" + mod.Go; version.Compare(needed, runtime.Version()) > 0 {
		return toolchain(needed), err
	}
	return "", err
}

// command returns a go command that runs in a folder.
func (t toolchain) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if t != "" {
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+string(t))
	}
	return cmd
}

// output runs go in a folder and returns what it prints.
func (t toolchain) output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := t.command(ctx, dir, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, errs.String(), out)
	}
	return out, nil
}

// read runs go in a folder and decodes the JSON that it prints.
func (t toolchain) read(ctx context.Context, dir string, into any, args ...string) error {
	text, err := t.output(ctx, dir, args...)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// goMod has the fields of the output of go mod edit -json that are used here.
type goMod struct {
	Go      string
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// readMod reads a go.mod.
func (t toolchain) readMod(ctx context.Context, dir, file string) (mod goMod, err error) {
	err = t.read(ctx, dir, &mod, "mod", "edit", "-json", file)
	return mod, err
}

// ours is the module path of this repository, and the prefix of the paths of its modules.
const ours = "github.com/jobfate/jobfate"

// missing lists the versions that a release requires and that a module proxy may not have, and the versions that
// are used instead.
var missing = []string{"sigs.k8s.io/structured-merge-diff/v7 v7.0.1 => sigs.k8s.io/structured-merge-diff/v7 v7.0.0"}

// required prints a module that this one requires directly.
const required = "{{with .Module}}{{if not (or .Main .Indirect)}}{{.Path}} {{.Version}}{{end}}{{end}}"

// releaseModfile writes a go.mod that requires a release of Kubernetes and, of what this module requires, only
// that which some packages and their tests need: JobSet, for example, would raise the versions of others. The go
// command chooses the versions of the other modules.
func releaseModfile(ctx context.Context, temp string, r release, packages ...string) (file string, err error) {
	theirs, err := r.toolchain.readMod(ctx, temp, filepath.Join(r.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	own, err := r.toolchain.readMod(ctx, r.module, "go.mod")
	if err != nil {
		return "", err
	}
	needed, err := toolchain("").output(ctx, r.module,
		append([]string{"list", "-deps", "-test", "-f", required}, packages...)...)
	if err != nil {
		return "", err
	}
	newest := theirs.Go
	if version.Compare("go"+own.Go, "go"+newest) > 0 {
		newest = own.Go
	}
	lines := []string{"module " + thisModule, "go " + newest, "require k8s.io/kubernetes v" + r.version}
	for _, replacement := range missing {
		lines = append(lines, "replace "+replacement)
	}
	// Kubernetes requires its own libraries as v0.0.0, and replaces them with folders of its repository.
	library := "v0." + strings.TrimPrefix(r.version, "1.")
	libraries := map[string]bool{}
	for _, l := range theirs.Replace {
		libraries[l.Old.Path] = true
		lines = append(lines, "replace "+l.Old.Path+" => "+l.Old.Path+" "+library)
	}
	for _, l := range own.Replace {
		if strings.HasPrefix(l.Old.Path, ours) {
			lines = append(lines, "replace "+l.Old.Path+" => "+filepath.Join(r.module, l.New.Path))
		}
	}
	all := strings.Split(strings.TrimSpace(string(needed)), "\n")
	slices.Sort(all)
	for _, module := range slices.Compact(all) {
		switch path, _, _ := strings.Cut(module, " "); {
		case path == "k8s.io/kubernetes":
		case libraries[path]:
			lines = append(lines, "require "+path+" "+library)
		default:
			lines = append(lines, "require "+module)
		}
	}
	sums, err := os.ReadFile(filepath.Join(r.module, "go.sum"))
	file = filepath.Join(temp, "go.mod")
	return file, errors.Join(err, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600),
		os.WriteFile(filepath.Join(temp, "go.sum"), sums, 0o600))
}
