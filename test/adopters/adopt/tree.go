package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tree is a project in the module cache, and a copy that changes.
type tree struct {
	*project
	theirs, copy string
	changed      map[string][]byte // the files that jobfate changes, by their path in the project
}

// library is the module that the project requires in addition, and for its tests jobtest below it.
const library = "github.com/jobfate/jobfate"

// newTree takes a project from the module proxy and copies it. The copy is at the same place, and as old as the
// original, each time: else the go command would build and test everything again.
func (p *project) newTree(ctx context.Context) (*tree, error) {
	out, err := output(exec.CommandContext(ctx, "go", "mod", "download", "-json", p.module+"@"+p.version))
	if err != nil {
		return nil, err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, err
	}
	t := &tree{project: p, theirs: found.Dir, changed: map[string][]byte{},
		copy: filepath.Join(os.TempDir(), "jobfate-adopt", p.name)}
	root, err := filepath.Abs("../..")
	if err = errors.Join(err, t.remove(), os.MkdirAll(filepath.Dir(t.copy), 0o700)); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"cp", "-a", t.theirs, t.copy},
		{"chmod", "-R", "u+w", t.copy},
		{"go", "mod", "edit", "-require=" + library + "@v0.0.0", "-replace=" + library + "=" + root,
			"-replace=" + library + "/jobtest=" + root + "/jobtest", filepath.Join(t.copy, "go.mod")},
	} {
		if _, err := output(exec.CommandContext(ctx, args[0], args[1:]...)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) remove() error { return os.RemoveAll(t.copy) }

// replace puts the declarations of our files with a suffix, which have the paths of the project, in the place of
// theirs, except those to skip, and drops others.
func (t *tree) replace(suffix string, drop, skip []string) error {
	ours := filepath.Join("adopt/testdata", t.name)
	err := fs.WalkDir(os.DirFS(ours), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, suffix) {
			return err
		}
		text, errOurs := os.ReadFile(filepath.Join(ours, name))
		old, errTheirs := os.ReadFile(filepath.Join(t.theirs, name))
		if err = errors.Join(errOurs, errTheirs); err != nil {
			return err
		}
		if line := copied(old, text); line != "" {
			return fmt.Errorf("%s: a line is theirs: %s", name, line)
		}
		if t.changed[name], err = splice(name, old, text, drop, skip); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	for name, text := range t.changed {
		err = errors.Join(err, os.WriteFile(filepath.Join(t.copy, name), text, 0o600))
	}
	return err
}

// diff compares the files that have changed, and returns how many lines are gone and new, without tests.
func (t *tree) diff(ctx context.Context) (patch []byte, gone, added int, err error) {
	for _, name := range slices.Sorted(maps.Keys(t.changed)) {
		out, err := output(exec.CommandContext(ctx, "git", "diff", "--no-index",
			filepath.Join(t.theirs, name), filepath.Join(t.copy, name)))
		exit := new(exec.ExitError)
		if !errors.As(err, &exit) || exit.ExitCode() != 1 { // they differ
			return nil, 0, 0, fmt.Errorf("%s: they have the same: %w", name, err)
		}
		for line := range bytes.Lines(out) {
			switch {
			case strings.HasSuffix(name, "_test.go"):
			case bytes.HasPrefix(line, []byte("---")), bytes.HasPrefix(line, []byte("+++")):
			case line[0] == '-':
				gone++
			case line[0] == '+':
				added++
			}
		}
		out = bytes.ReplaceAll(out, []byte(t.theirs+"/"), []byte("/"))
		patch = append(patch, bytes.ReplaceAll(out, []byte(t.copy+"/"), []byte("/"))...)
	}
	return patch, gone, added, nil
}

// moved returns an error if go.mod of the project changes other than expected.
func (t *tree) moved(ctx context.Context) error {
	type gomod struct {
		Go      string
		Require []struct{ Path, Version string }
	}
	var before, after gomod
	for dir, mod := range map[string]*gomod{t.theirs: &before, t.copy: &after} {
		out, err := output(exec.CommandContext(ctx, "go", "mod", "edit", "-json", filepath.Join(dir, "go.mod")))
		if err = errors.Join(err, json.Unmarshal(out, mod)); err != nil {
			return err
		}
	}
	var moves []string
	if before.Go != after.Go {
		moves = append(moves, "go "+after.Go)
	}
	for _, r := range after.Require {
		if !slices.Contains(before.Require, r) && !strings.HasPrefix(r.Path, library) {
			moves = append(moves, r.Path+" "+r.Version)
		}
	}
	if !slices.Equal(moves, t.moves) {
		return fmt.Errorf("go.mod changes: %q, want %q", moves, t.moves)
	}
	return nil
}

// output runs a command and returns what it prints; if it fails, also as part of the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, errs.String())
	}
	return out, err
}

// goIn runs the go command in a folder.
func goIn(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	return output(cmd)
}
