package main

import (
	"context"
	"errors"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
