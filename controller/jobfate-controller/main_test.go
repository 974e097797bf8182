package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/controller"
)

// The permission for a lease names the lease of the default --managed-by, and the Deployment uses
// that name.
func TestManifestsNameTheLease(t *testing.T) {
	var s settings
	s.register(flag.NewFlagSet("", flag.ContinueOnError))
	account := read("deploy/base/account.yaml")
	if want := "resourceNames: [" + controller.LeaseName(s.ManagedBy) + "]"; !strings.Contains(account, want) {
		t.Errorf("deploy/account.yaml: want %q in it", want)
	}
	deployment := read("deploy/base/deployment.yaml")
	if want := " --managed-by=" + s.ManagedBy + " "; !strings.Contains(deployment, want) {
		t.Errorf("deploy/deployment.yaml: want %q in it", want)
	}
}
