package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// ours is the module path of this repository, and the prefix of the paths of its modules.
const ours = "github.com/jobfate/jobfate"

// goMod has the fields of the output of go mod edit -json that are used here.
type goMod struct {
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

func readMod(ctx context.Context, dir string) (mod goMod, err error) {
	text, err := goCommand(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return mod, err
	}
	return mod, json.Unmarshal(text, &mod)
}

// modfile is a temporary go.mod for this module.
type modfile struct {
	lines []string
	has   map[string]bool // the required paths
	sums  []byte
}

func newModfile(module string) *modfile {
	return &modfile{
		lines: []string{
			"module " + ours + "/conformance", "go 1.26.0",
			"require " + ours + " v0.0.0", "replace " + ours + " => " + filepath.Dir(module),
		},
		has: map[string]bool{},
	}
}

// require adds a requirement, unless the path is already required.
func (m *modfile) require(path, version string) {
	if !m.has[path] {
		m.has[path] = true
		m.lines = append(m.lines, "require "+path+" "+version)
	}
}

// replace replaces a module of Kubernetes with a released version. Kubernetes requires its own
// libraries as v0.0.0, and replaces them with folders of its repository.
func (m *modfile) replace(path, version string) {
	m.lines = append(m.lines, "replace "+path+" => "+path+" "+version)
}

// trust adds the checksums of a module of this repository.
func (m *modfile) trust(dir string) error {
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	m.sums = append(m.sums, sums...)
	return err
}

// write writes the file and a go.sum beside it.
func (m *modfile) write(temp string) (file string, err error) {
	file = filepath.Join(temp, "go.mod")
	if err := os.WriteFile(file, []byte(strings.Join(m.lines, "\n")+"\n"), 0o600); err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(temp, "go.sum"), m.sums, 0o600)
}

// unionModfile writes a go.mod with the requirements of several modules of this repository, which
// use the same release of Kubernetes.
func unionModfile(ctx context.Context, temp, module string, others ...string) (file string, err error) {
	m := newModfile(module)
	for i, other := range append([]string{"conformance"}, others...) {
		dir := filepath.Join(module, "..", other)
		mod, err := readMod(ctx, dir)
		if err != nil {
			return "", err
		}
		for _, r := range mod.Require {
			if !strings.HasPrefix(r.Path, ours) {
				m.require(r.Path, r.Version)
			}
		}
		for _, r := range mod.Replace {
			if i == 0 && r.Old.Path == r.New.Path {
				m.replace(r.Old.Path, r.New.Version)
			}
		}
		if err := m.trust(dir); err != nil {
			return "", err
		}
	}
	return m.write(temp)
}

// releaseModfile writes a go.mod that requires another release of Kubernetes. The go command chooses
// the versions of the other modules.
func releaseModfile(ctx context.Context, temp string, r release) (file string, err error) {
	m := newModfile(r.module)
	own, err := readMod(ctx, r.module)
	if err != nil {
		return "", err
	}
	theirs, err := readMod(ctx, r.dir)
	if err != nil {
		return "", err
	}
	library := "v0." + strings.TrimPrefix(r.version, "1.")
	m.require("k8s.io/kubernetes", "v"+r.version)
	libraries := map[string]bool{}
	for _, l := range theirs.Replace {
		libraries[l.Old.Path] = true
		m.replace(l.Old.Path, library)
	}
	for _, q := range own.Require {
		switch {
		case q.Indirect, strings.HasPrefix(q.Path, ours):
		case libraries[q.Path]:
			m.require(q.Path, library)
		default:
			m.require(q.Path, q.Version)
		}
	}
	if err := m.trust(r.module); err != nil {
		return "", err
	}
	return m.write(temp)
}
