// Package plugin runs kubectl-jobfate, as a process, against a real API server on which
// the built-in Job controller runs Jobs.
package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/observe"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

var (
	api        *server.Server
	builtIn    *server.Controller
	binary     string
	kubectl    string
	kubeconfig string // of an administrator
)

func TestMain(m *testing.M) {
	os.Exit(server.Run(m, &api, 0, func(ctx context.Context, s *server.Server) (err error) {
		if binary, err = server.BuildMain(ctx, "../../cmd/kubectl-jobfate"); err != nil {
			return err
		}
		if kubectl, err = server.Kubectl(ctx); err != nil {
			return err
		}
		if kubeconfig, err = s.Kubeconfig("plugin", s.Config()); err != nil {
			return err
		}
		builtIn, err = s.BuiltIn(ctx, server.Options{})
		return err
	}))
}

// newWorld returns a namespace in which the built-in controller runs the Job.
func newWorld(t *testing.T, script kubelet.Script) *world.World {
	t.Parallel()
	w := world.New(t, api, world.BuiltIn(builtIn), script)
	t.Cleanup(w.LogOnFailure)
	return w
}

// run runs the plugin in the namespace, and compares the exit status and parts of its standard
// output or, if that is empty, of its standard error.
func run(w *world.World, status int, args []string, parts ...string) string {
	w.T.Helper()
	return runAs(w, kubeconfig, status, args, parts...)
}

func runAs(w *world.World, kubeconfig string, status int, args []string, parts ...string) string {
	w.T.Helper()
	text, got := output(w, kubeconfig, args)
	if got != status {
		w.T.Errorf("%q: got status %d, want %d\n%s", args, got, status, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.T.Errorf("%q: got %q, want it to contain %q", args, text, part)
		}
	}
	return text
}

// output runs the plugin, and returns its standard output or, if that is empty, its standard error, and its exit status.
func output(w *world.World, kubeconfig string, args []string) (string, int) {
	w.T.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(w.T.Context(), binary, append([]string{"--kubeconfig", kubeconfig, "--cache-dir", api.Dir() + "/cache", "-n", w.Namespace}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.T.Fatal(err)
	}
	return cmp.Or(stdout.String(), stderr.String()), cmd.ProcessState.ExitCode()
}

// patience is how long the built-in controller and the API server may take.
const patience = 30 * time.Second

// eventually runs the plugin until it prints the given parts. The events of the built-in controller
// arrive late.
func eventually(w *world.World, status int, args []string, parts ...string) {
	w.T.Helper()
	observe.Await(w.T, patience, parts[0], func() string {
		if text, _ := output(w, kubeconfig, args); !strings.Contains(text, parts[0]) {
			return "it prints " + text
		}
		return ""
	})
	run(w, status, args, parts...)
}
