// Package jobset runs the code of JobSet 0.12.0 that handles failed Jobs.
//
// [Run] calls the function of JobSet's controller that applies the failure policy of a set.
// [Validate] calls the webhook that validates a new set. Both run in this process and send no
// request, so a test can compare millions of decisions.
//
// # Access to unexported code
//
// As in test/kubernetes/conformance/real, functions are linked with go:linkname, which the linker restricts only
// for the standard library. Some take pointers to unexported structs, which link.go declares again.
// TestMirrors compares these with JobSet's source.
//
// # Shared state
//
// JobSet reads its feature gates from a package variable. SetFeatureGateDuringTest in its package
// features sets one for a test: the actions RestartJob and RestartJobAndIgnoreMaxRestarts need the
// gate RestartJob, which is off by default.
package jobset

import (
	"context"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// Outcome is the reaction of the controller to failed Jobs.
type Outcome struct {
	// Status is the status of the set that the controller stores. Its counters of restarts make
	// the next sync delete Jobs.
	Status v1alpha2.JobSetStatus
	// Events lists the reasons of the events that it sends. The reason of an action is the last one,
	// such as RestartJobSetFailurePolicyAction.
	Events []string
}

// Quiet is a context with a logger that writes nothing.
var Quiet = ctrl.LoggerInto(context.Background(), logr.Discard())

// Run applies the failure policy of a set. The Jobs must have failed: they have the condition
// Failed. It does not change its arguments.
func Run(set *v1alpha2.JobSet, failed []*batchv1.Job) (Outcome, error) {
	set = set.DeepCopy()
	update := &statusUpdateOpts{}
	if err := executeFailurePolicy(Quiet, set, &childJobs{failed: failed}, update); err != nil {
		return Outcome{}, err
	}
	o := Outcome{Status: set.Status}
	for _, e := range update.events {
		o.Events = append(o.Events, e.eventReason)
	}
	return o, nil
}

// Validate returns why the webhook refuses a new set, or nil. It sets defaults first, as the API
// server does. It does not change its argument.
func Validate(set *v1alpha2.JobSet) error {
	set = set.DeepCopy()
	if err := Default(set); err != nil {
		return err
	}
	_, err := validateCreate(&jobSetWebhook{}, Quiet, set)
	return err
}

// Default sets the defaults of a set, as the webhook does.
func Default(set *v1alpha2.JobSet) error { return setDefaults(&jobSetWebhook{}, Quiet, set) }
