package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// release is a release of Kubernetes whose tests are run.
type release struct {
	version string // for example 1.37.2
	dir     string // the folder of k8s.io/kubernetes in the module cache
	module  string // the folder of this module
	modfile string // the go.mod to use; empty: that of this module
}

// pinned returns the release that this module requires.
func pinned(ctx context.Context) (release, error) {
	module, err := moduleRoot()
	if err != nil {
		return release{}, err
	}
	return download(ctx, module, module, "k8s.io/kubernetes")
}

// download makes sure that a release is in the module cache. The go command runs in dir, and resolves
// name there.
func download(ctx context.Context, module, dir, name string) (release, error) {
	text, err := goCommand(ctx, dir, "mod", "download", "-json", name)
	if err != nil {
		return release{}, err
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(text, &found); err != nil {
		return release{}, fmt.Errorf("go mod download: %w", err)
	}
	return release{version: strings.TrimPrefix(found.Version, "v"), dir: found.Dir, module: module}, nil
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
	return runTests(ctx, r.module, append(r.flags(overlay), args...)...)
}

// flags returns the flags with which go test compiles the release, and the tests know its version.
func (r release) flags(overlay string) []string {
	flags := []string{"-overlay", overlay, "-ldflags", "-X " + ours + "/conformance/kubernetes.version=" + r.version}
	if r.modfile != "" {
		flags = append(flags, "-mod=mod", "-modfile", r.modfile)
	}
	return flags
}

// moduleRoot returns the folder of this module. Tests run in the folder of their package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module "+ours+"/conformance\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("the working directory is not in the conformance module")
		}
	}
}

// goCommand runs go in a folder and returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out, nil
}
