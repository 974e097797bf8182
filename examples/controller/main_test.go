package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The right to a lease names the lease, and the Deployment does not change the
// name.
func TestManifestsNameTheLease(t *testing.T) {
	var s settings
	s.register(flag.NewFlagSet("", flag.ContinueOnError))
	rbac, err := os.ReadFile("deploy/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "resourceNames: [" + s.managerOptions().LeaderElectionID + "]"; !strings.Contains(string(rbac), want) {
		t.Errorf("deploy/rbac.yaml: want %q in it", want)
	}
	deployment, err := os.ReadFile("deploy/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "--managed-by=" + s.managedBy; !strings.Contains(string(deployment), want) {
		t.Errorf("deploy/deployment.yaml: want %q in it", want)
	}
}

// Every name that a Job can have in spec.managedBy gives a lease of its own, with a name
// that a lease can have.
func TestLeaseNames(t *testing.T) {
	names := map[string]string{}
	for _, managedBy := range []string{
		"jobfate.dev/controller", "acme.io/My_Controller", "acme.io/my_controller", "acme.io/my-controller", "acme.io/my.controller",
		"acme.io/my/controller", "acme.io-my/controller", "acme.io/x", "acme.io/X", "acme/io.x", "acme.io.x/y", "acme.io/x.y", "a/.", "a/-", "a/~!$&'()*+,;=:",
		"acme.io/" + strings.Repeat("x", 55),
	} {
		if err := (&settings{managedBy: managedBy}).validate(); err != nil {
			t.Errorf("--managed-by=%s: %v", managedBy, err)
		}
		name := leaseName(managedBy)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Errorf("the lease of %q is %q: %v", managedBy, name, errs)
		}
		if other, ok := names[name]; ok {
			t.Errorf("%q and %q have the lease %q", managedBy, other, name)
		}
		names[name] = managedBy
	}
}

func TestManagedByIsValidated(t *testing.T) {
	for _, managedBy := range []string{"", "controller", "Acme.io/x", "acme.io/", "acme.io/x y", "acme.io/" + strings.Repeat("x", 56), "kubernetes.io/job-controller"} {
		if err := (&settings{managedBy: managedBy}).validate(); err == nil {
			t.Errorf("--managed-by=%q is accepted, want an error", managedBy)
		}
	}
}
