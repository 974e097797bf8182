package operate

import (
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
