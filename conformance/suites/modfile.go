package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goMod is what go mod edit -json prints, as far as it is used here.
type goMod struct {
	Require []struct{ Path, Version string }
}

// ours is the module of this repository, and where its modules are.
const ours = "github.com/jobfate/jobfate"

// widerModfile writes a go.mod for this module that has the requirements of other modules
// of this repository as well, and a go.sum beside it. What only others require is enough:
// they go by the same release of Kubernetes.
func widerModfile(ctx context.Context, temp, module string, others ...string) (file string, err error) {
	file = filepath.Join(temp, "go.mod")
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	mod, err := readMod(ctx, module)
	if err != nil {
		return "", err
	}
	edits := []string{"-replace=" + ours + "=" + filepath.Dir(module)}
	sums, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	for _, other := range others {
		dir := filepath.Join(module, "..", other)
		wider, err := readMod(ctx, dir)
		if err != nil {
			return "", err
		}
		for _, r := range wider.Require {
			if !strings.HasPrefix(r.Path, ours) && !mod.requires(r.Path) {
				edits = append(edits, "-require="+r.Path+"@"+r.Version)
			}
		}
		more, err := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err != nil {
			return "", err
		}
		sums = append(sums, more...)
	}
	if err := os.WriteFile(filepath.Join(temp, "go.sum"), sums, 0o600); err != nil {
		return "", err
	}
	_, err = goCommand(ctx, module, append(append([]string{"mod", "edit"}, edits...), file)...)
	return file, err
}

func readMod(ctx context.Context, dir string) (mod goMod, err error) {
	text, err := goCommand(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return mod, err
	}
	return mod, json.Unmarshal(text, &mod)
}

func (m *goMod) requires(path string) bool {
	return slices.ContainsFunc(m.Require, func(r struct{ Path, Version string }) bool { return r.Path == path })
}
