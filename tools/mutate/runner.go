package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// runner builds and runs test binaries.
type runner struct {
	root    string // absolute
	here    string // the folder of this program
	work    string // a folder for what is built
	workers int
	out     io.Writer
	reasons reasons
	only    *regexp.Regexp
	tests   string // the folder of the tests; empty for those of the package and the root
	share   uint32 // the percentage of the mutants that are tested

	mutex sync.Mutex
	built int
}

func newRunner(root string, workers int, out io.Writer) (*runner, error) {
	r := &runner{workers: workers, out: out}
	var err error
	if r.root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	r.here = filepath.Join(r.root, "tools", "mutate")
	r.work, err = os.MkdirTemp("", "mutate-")
	return r, err
}

// goCommand runs the go command in the main module and returns what it prints.
func (r *runner) goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, stderr.String())
	}
	return string(stdout), err
}

// binary is a test binary.
type binary struct {
	path  string
	dir   string // the folder of the package
	limit time.Duration
}

func (b binary) remove() { os.Remove(b.path) }

// build makes the test binary of a package, given other texts for some files.
func (r *runner) build(dir string, texts map[string]string) (binary, error) {
	r.mutex.Lock()
	r.built++
	prefix := filepath.Join(r.work, strconv.Itoa(r.built))
	r.mutex.Unlock()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range texts {
		replacement := prefix + "-" + filepath.Base(path)
		if err := os.WriteFile(replacement, []byte(text), 0o600); err != nil {
			return binary{}, err
		}
		overlay.Replace[path] = replacement
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return binary{}, err
	}
	if err := os.WriteFile(prefix+".json", list, 0o600); err != nil {
		return binary{}, err
	}
	b := binary{path: prefix + ".test", dir: filepath.Join(r.root, dir)}
	_, err = r.goCommand("test", "-c", "-vet=off", "-overlay", prefix+".json", "-o", b.path, "./"+dir)
	return b, err
}

// run runs the tests of a binary as one of its mutants.
func (r *runner) run(b binary, number int) (verdict, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(r.here, "runtest.sh"), b.path, "-test.failfast")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), switchVariable+"="+strconv.Itoa(number))
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return timedOut, string(output), nil
	case err == nil:
		return survived, string(output), nil
	case errors.As(err, &exit):
		return killed, string(output), nil
	}
	return killed, string(output), err
}

// calibrate runs the tests of a binary without a mistake. They must pass; how long
// they take decides when a run with a mistake has timed out.
func (r *runner) calibrate(b binary) (binary, error) {
	b.limit = 10 * time.Minute
	start := time.Now()
	v, output, err := r.run(b, 0)
	if err == nil && v != survived {
		err = fmt.Errorf("the tests fail without a mistake:\n%s", output)
	}
	b.limit = 10 * (time.Since(start) + time.Second)
	return b, err
}

// each calls a function for all mutants, some at a time, and returns the first error.
func (r *runner) each(mutants []*mutant, f func(i int, m *mutant) error) error {
	var group sync.WaitGroup
	next, errs := make(chan int), make([]error, len(mutants))
	for range r.workers {
		group.Go(func() {
			for i := range next {
				errs[i] = f(i, mutants[i])
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}
