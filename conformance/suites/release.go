package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// release is a release of Kubernetes whose tests are run.
type release struct {
	version string // as in 1.36.3
	dir     string // of k8s.io/kubernetes in the module cache
	module  string // the folder of this module
}

// pinned is the release that this module requires.
func pinned(ctx context.Context) (release, error) {
	module, err := moduleRoot()
	if err != nil {
		return release{}, err
	}
	text, err := goCommand(ctx, module, "mod", "download", "-json", "k8s.io/kubernetes")
	if err != nil {
		return release{}, err
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(text, &found); err != nil {
		return release{}, fmt.Errorf("go mod download: %w", err)
	}
	return release{version: found.Version[1:], dir: found.Dir, module: module}, nil
}

// moduleRoot finds the folder of this module: tests run in the folder of their package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module github.com/jobfate/jobfate/conformance\n")) {
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
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, errs.String())
	}
	return out, nil
}
