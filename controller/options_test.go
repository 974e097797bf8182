package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/decide"
	. "github.com/jobfate/jobfate/internal/podtest"
)

// Each valid name in spec.managedBy has its own lease, and each lease name is valid.
func TestLeaseNames(t *testing.T) {
	names := map[string]string{}
	for _, managedBy := range []string{
		"jobfate.dev/controller", "acme.io/My_Controller", "acme.io/my_controller", "acme.io/my-controller", "acme.io/my.controller",
		"acme.io/my/controller", "acme.io-my/controller", "acme.io/x", "acme.io/X", "acme/io.x", "acme.io.x/y", "acme.io/x.y", "a/.", "a/-", "a/~!$&'()*+,;=:",
		"acme.io/" + strings.Repeat("x", 55),
	} {
		Must((Options{ManagedBy: managedBy}).complete())
		name := LeaseName(managedBy)
		Same(t, fmt.Sprintf("the lease of %q is %q: errors", managedBy, name), validation.IsDNS1123Subdomain(name), nil)
		if other, ok := names[name]; ok {
			t.Errorf("%q and %q have the lease %q", managedBy, other, name)
		}
		names[name] = managedBy
	}
}

func TestManagedByIsValidated(t *testing.T) {
	for _, managedBy := range []string{"controller", "Acme.io/x", "acme.io/", "acme.io/x y", "acme.io/" + strings.Repeat("x", 56), "kubernetes.io/job-controller"} {
		if _, err := (Options{ManagedBy: managedBy}).complete(); err == nil {
			t.Errorf("ManagedBy=%q is accepted, want an error", managedBy)
		}
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]Options{
		"managedBy: Invalid value":                       {ReplaceBuiltIn: true, ManagedBy: "a.io/b"},
		"workers: Invalid value":                         {Workers: -1},
		"burst: Invalid value":                           {Burst: -1},
		"batchPeriod: Invalid value":                     {BatchPeriod: -1},
		"namespaces[1]: Duplicate":                       {Namespaces: []string{"a", "a"}},
		"namespaces[1]: Invalid value":                   {Namespaces: []string{"a", ""}},
		"namespaces[0]: Invalid value":                   {Namespaces: []string{"A"}},
		"manager.leaderElectionID: Invalid value":        {Manager: ctrl.Options{LeaderElectionID: "a_b"}},
		"manager.leaderElectionNamespace: Invalid value": {Manager: ctrl.Options{LeaderElectionNamespace: "A"}},
		"manager.retryPeriod: Invalid value":             {Manager: ctrl.Options{RetryPeriod: new(time.Duration)}},
		"manager.renewDeadline: Invalid value":           {Manager: ctrl.Options{RenewDeadline: new(2400 * time.Millisecond)}},
		"manager.leaseDuration: Invalid value":           {Manager: ctrl.Options{LeaseDuration: new(10 * time.Second)}},
		"MaxChanges: Invalid value":                      {Decide: []decide.Option{decide.MaxChanges(-1)}},
		"Backoff.base: Invalid value":                    {ReplaceBuiltIn: true, Decide: []decide.Option{decide.Backoff(backoff.Policy{Base: -1})}},
	} {
		_, err := o.complete()
		wantError(t, err, want)
	}
	o, err := Options{}.complete()
	if err != nil || o.ManagedBy != DefaultManagedBy || o.Workers != 5 || o.QPS != 20 || o.Burst != 30 || o.BatchPeriod != defaultBatchPeriod || len(o.Namespaces) != 1 {
		t.Errorf("the zero value: got %+v, %v", o, err)
	}
	Same(t, "the name with ReplaceBuiltIn", Must((Options{ReplaceBuiltIn: true}).complete()).ManagedBy, "")
}
