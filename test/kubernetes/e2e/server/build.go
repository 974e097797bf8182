package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The programs in Kubernetes' modules, as tool lines of go.mod.
const (
	etcd              = "go.etcd.io/etcd/server/v3"
	apiServer         = "k8s.io/kubernetes/cmd/kube-apiserver"
	controllerManager = "k8s.io/kubernetes/cmd/kube-controller-manager"
	kubectl           = "k8s.io/kubernetes/cmd/kubectl"
)

// programs holds the programs built so far, by their source. Many tests request the same one at
// once.
type programs struct {
	mu    sync.Mutex
	paths map[string]string
}

func (p *programs) of(what string, build func() (string, error)) (path string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path, ok := p.paths[what]; ok {
		return path, nil
	}
	if path, err = build(); err == nil {
		if p.paths == nil {
			p.paths = map[string]string{}
		}
		p.paths[what] = path
	}
	return path, err
}

// build builds the program of a tool line of the go.mod in a folder, or finds it in Go's build cache,
// and returns its path.
func build(ctx context.Context, dir, tool string) (string, error) {
	return goCommand(ctx, dir, "tool", "-n", tool)
}

// Kubectl builds kubectl, or finds it in Go's build cache, and returns its path.
func Kubectl(ctx context.Context) (string, error) { return build(ctx, ".", kubectl) }

// BuildMain does the same for the main package of a folder, also of another module; its path is
// absolute or relative to this module. It prints the path of the program that go run leaves in the
// build cache, instead of running it.
func BuildMain(ctx context.Context, dir string, flags ...string) (string, error) {
	run := func(exec string) (string, error) {
		return goCommand(ctx, dir, append(append([]string{"run", "-exec", exec}, flags...), ".")...)
	}
	// go run puts a program that is not in the cache yet into a folder that it removes.
	if _, err := run("true"); err != nil {
		return "", err
	}
	return run("echo")
}

// goCommand runs go in a folder, and returns its output.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	dir, err := absolute(dir)
	if err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if *release != "" {
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto") // it may need a newer Go
	}
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), cmd.Dir, err, errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// absolute makes a path relative to this module absolute.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	root, err := moduleRoot()
	return filepath.Join(root, path), err
}

// moduleRoot finds the folder of this module: tests run in the folder of their package.
func moduleRoot() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	return filepath.Dir(string(mod)), err
}

// lock waits until no other test binary of this module has a server: Go runs the tests of several packages at once,
// which would build the same programs twice and disturb each other's measurements. Closing the file unlocks.
func lock() (*os.File, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		dir.Close()
		return nil, fmt.Errorf("locking %s: %w", root, err)
	}
	return dir, nil
}
