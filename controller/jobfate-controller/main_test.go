package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jobfate/jobfate/controller"
)

// The permission for a lease names the lease of the default --managed-by, and the Deployment uses
// that name.
func TestManifestsNameTheLease(t *testing.T) {
	var s settings
	s.register(flag.NewFlagSet("", flag.ContinueOnError))
	account, err := os.ReadFile("deploy/base/account.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := "resourceNames: [" + controller.LeaseName(s.ManagedBy) + "]"; !strings.Contains(string(account), want) {
		t.Errorf("deploy/account.yaml: want %q in it", want)
	}
	deployment, err := os.ReadFile("deploy/base/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := " --managed-by=" + s.ManagedBy + " "; !strings.Contains(string(deployment), want) {
		t.Errorf("deploy/deployment.yaml: want %q in it", want)
	}
}
