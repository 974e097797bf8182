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
	sums  []byte          // the text of go.sum
}

// local requires a module of this repository, and replaces it with its folder.
func (m *modfile) local(path, dir string) {
	if !m.has[path] {
		m.require(path, "v0.0.0")
		m.lines = append(m.lines, "replace "+path+" => "+dir)
	}
}

// require adds a requirement, unless the path is already required.
func (m *modfile) require(path, version string) {
	if !m.has[path] {
		m.has[path] = true
		m.lines = append(m.lines, "require "+path+" "+version)
	}
}

// write writes the file and a go.sum beside it.
func (m *modfile) write(temp string) (file string, err error) {
	file = filepath.Join(temp, "go.mod")
	if err := os.WriteFile(file, []byte(strings.Join(m.lines, "\n")+"\n"), 0o600); err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(temp, "go.sum"), m.sums, 0o600)
}

// releaseModfile writes a go.mod that requires a release of Kubernetes, and what this module and others of
// this repository require. The go command chooses the versions of the other modules.
func releaseModfile(ctx context.Context, temp string, r release, others ...string) (file string, err error) {
	m := &modfile{lines: []string{"module " + ours + "/conformance", "go 1.26.0"}, has: map[string]bool{}}
	theirs, err := readMod(ctx, r.dir)
	if err != nil {
		return "", err
	}
	m.require("k8s.io/kubernetes", "v"+r.version)
	// Kubernetes requires its own libraries as v0.0.0, and replaces them with folders of its repository.
	library := "v0." + strings.TrimPrefix(r.version, "1.")
	libraries := map[string]bool{}
	for _, l := range theirs.Replace {
		libraries[l.Old.Path] = true
		m.lines = append(m.lines, "replace "+l.Old.Path+" => "+l.Old.Path+" "+library)
	}
	for _, name := range append([]string{"conformance"}, others...) {
		dir := filepath.Join(r.module, "..", name)
		mod, err := readMod(ctx, dir)
		if err != nil {
			return "", err
		}
		for _, q := range mod.Require {
			switch {
			case strings.HasPrefix(q.Path, ours):
			case q.Indirect && len(others) == 0:
			case libraries[q.Path]:
				m.require(q.Path, library)
			default:
				m.require(q.Path, q.Version)
			}
		}
		for _, l := range mod.Replace {
			if strings.HasPrefix(l.Old.Path, ours) {
				m.local(l.Old.Path, filepath.Join(dir, l.New.Path))
			}
		}
		sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err != nil {
			return "", err
		}
		m.sums = append(m.sums, sums...)
	}
	return m.write(temp)
}
