package operate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/jobfate/jobfate/controller/live/kubelet"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/server"
	"github.com/jobfate/jobfate/test/kubernetes/e2e/world"
)

// refuses starts a controller that ends with an error.
func refuses(t *testing.T, name, why string, args ...string) {
	t.Helper()
	c := run(t, server.Options{Name: name, Args: args})
	<-c.Done()
	if log := c.Log(why, 1); log == "" {
		t.Errorf("%v: logged %s, want %q in it", args, c.Log("", 5), why)
	}
}

// A name that no Job can have, the name of the built-in controller, invalid numbers, leases and
// arguments are rejected.
func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	refuses(t, "no-domain", "--managed-by: Invalid value", "--managed-by=controller")
	refuses(t, "upper-case", "--managed-by: Invalid value", "--managed-by=Acme.io/x")
	refuses(t, "too-long", "--managed-by: Too long", "--managed-by=acme.io/"+strings.Repeat("x", 56))
	refuses(t, "workers", "--concurrent-syncs: Invalid value", "--concurrent-syncs=0")
	refuses(t, "no-number", "--qps: Invalid value", "--qps=NaN")
	refuses(t, "lease", "--lease: Invalid value", "--lease=a_b")
	refuses(t, "renew", "--leader-elect-renew-deadline: Invalid value", "--leader-elect-retry-period=10s")
	refuses(t, "argument", `unexpected argument \"false\"`, "--leader-elect", "false")
	refuses(t, "changes", "--max-changes: Invalid value", "--max-changes=-1")
	refuses(t, "the-built-in", "the built-in controller runs these Jobs", "--managed-by="+batchv1.JobControllerName)
}

// With --replace-built-in the controller runs Jobs without spec.managedBy. No built-in controller
// runs here.
func TestReplaceBuiltIn(t *testing.T) {
	t.Parallel()
	c := run(t, server.Options{Name: "in-place", Args: []string{"--replace-built-in"}})
	w := newWorld(t, world.BuiltIn(c), kubelet.Succeed())
	w.Create(at(3))
	w.Until("succeeded=3 completed=0-2 " + world.Completed)
}

// Controllers lead side by side even if their names must be changed to become lease names.
func TestLeases(t *testing.T) {
	t.Parallel()
	const namespace = "jobfate"
	for i, managedBy := range []string{"acme.io/My_Controller", "a.io/b-c", "a.io/b/c", "a.io/~!$&'()*+,;=:"} {
		c := run(t, server.Options{
			// The manifests allow one lease.
			Name: "lease-" + string('a'+rune(i)), Via: func(*rest.Config) *rest.Config { return api.Config() },
			Args: []string{"--managed-by=" + managedBy, "--leader-elect=true", "--leader-elect-namespace=" + namespace},
		})
		w := newWorld(t, world.Side{Controller: c, ManagedBy: &managedBy}, kubelet.Succeed())
		w.Create(at(1))
		w.Until("succeeded=1 completed=0 " + world.Completed)
	}
	leases, err := api.Client.CoordinationV1().Leases(namespace).List(t.Context(), metav1.ListOptions{})
	world.Must(t, err)
	var names []string
	for _, lease := range leases.Items {
		names = append(names, lease.Name)
	}
	slices.Sort(names)
	if len(names) != 4 || len(slices.Compact(names)) != 4 {
		t.Errorf("the leases are %q, want four", names)
	}
}

// On the API servers of older releases the controller logs which features they lack, and runs Jobs. The
// flag -kubernetes=1.35.4 runs a server that is older, and not only emulates it.
func TestOlderServers(t *testing.T) {
	const managed, restartRules, resources = "spec.managedBy", "restart rules", "resources of a suspended Job"
	own, err := api.Minor()
	world.Must(t, err)
	defer restore(t)
	for _, release := range []struct {
		minor int
		lacks []string
	}{{35, []string{resources}}, {36, nil}} {
		if !emulates(own, release.minor) {
			continue
		}
		world.Must(t, api.Restart(t.Context(), fmt.Sprintf("--emulated-version=1.%d", release.minor)))
		name := fmt.Sprintf("minor-%d", release.minor)
		c := world.Start(t, api, server.Options{Name: name})
		w := newWorld(t, c, kubelet.Succeed())
		w.Create(at(3))
		w.Until("succeeded=3 completed=0-2 " + world.Completed)
		line := c.Log("lacks features", 1)
		for _, feature := range []string{managed, restartRules, resources} {
			if got, want := strings.Contains(line, feature), slices.Contains(release.lacks, feature); got != want {
				t.Errorf("1.%d lacks %s: logged %t, want %t: %s", release.minor, feature, got, want, line)
			}
		}
		c.Kill()
	}
}

// emulates reports whether a server can emulate a minor version: its own, and the three before.
func emulates(own, minor int) bool { return own-3 <= minor && minor <= own }

func restore(t *testing.T) {
	if err := api.Restart(t.Context()); err != nil {
		t.Error(err)
	}
}

// Up to 1.34 the gate JobManagedBy can be off. The API server then drops spec.managedBy, so the
// built-in controller runs the Jobs. The version of the server does not show that: jobfate's
// controller starts and ignores the Jobs.
func TestJobManagedByGateIsOff(t *testing.T) {
	own, err := api.Minor()
	world.Must(t, err)
	if !emulates(own, 34) {
		t.Skip("the gate is always on from 1.35 on")
	}
	world.Must(t, api.Restart(t.Context(), "--emulated-version=1.34", "--feature-gates=JobManagedBy=false"))
	defer restore(t)
	namespace, err := api.Namespace(t.Context(), "gates")
	world.Must(t, err)
	c := world.Start(t, api, server.Options{Name: "gates"})
	awaitLog(t, c.Controller, "Starting workers")
	job, err := api.Client.BatchV1().Jobs(namespace).Create(t.Context(), world.NewJob("job", c.ManagedBy, batchv1.JobSpec{}), metav1.CreateOptions{})
	world.Must(t, err)
	if job.Spec.ManagedBy != nil {
		t.Errorf("the stored Job names %s, want no name", *job.Spec.ManagedBy)
	}
}
