package main

import (
	"context"
	"go/version"
	"os"
	"path/filepath"
	"strings"
)

// ours is the module path of this repository, and the prefix of the paths of its modules.
const ours = "github.com/jobfate/jobfate"

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

// missing lists the versions that a release requires and that a module proxy may not have, and the versions that
// are used instead.
var missing = []string{"sigs.k8s.io/structured-merge-diff/v7 v7.0.1 => sigs.k8s.io/structured-merge-diff/v7 v7.0.0"}

// releaseModfile writes a go.mod that requires a release of Kubernetes, and what this module and others of
// this repository require. The go command chooses the versions of the other modules.
func releaseModfile(ctx context.Context, temp string, r release, others ...string) (file string, err error) {
	theirs, err := r.toolchain.readMod(ctx, temp, filepath.Join(r.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	m := &modfile{lines: []string{"module " + ours + "/conformance"}, has: map[string]bool{}}
	for _, replacement := range missing {
		m.lines = append(m.lines, "replace "+replacement)
	}
	newest := theirs.Go
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
		mod, err := r.toolchain.readMod(ctx, temp, filepath.Join(dir, "go.mod"))
		if err != nil {
			return "", err
		}
		if version.Compare("go"+mod.Go, "go"+newest) > 0 {
			newest = mod.Go
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
	m.lines = append(m.lines, "go "+newest)
	return m.write(temp)
}
