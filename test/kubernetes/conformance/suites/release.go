package main

import (
	"context"
	"path/filepath"
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
