package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

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
	Require []struct {
		Path, Version string
		Indirect      bool
	}
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// readMod reads a go.mod.
func (t toolchain) readMod(ctx context.Context, dir, file string) (mod goMod, err error) {
	err = t.read(ctx, dir, &mod, "mod", "edit", "-json", file)
	return mod, err
}
