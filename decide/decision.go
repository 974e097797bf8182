package decide

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobfate/jobfate/backoff"
)

// Decision lists the actions for a Job, and what holds once all of them have succeeded.
// A Machine, of package machine, carries it out. It also handles what happens between two writes,
// and the status write that counts pods after their finalizers are removed.
//
// The pods in Claim, Delete and Strip, and the pods that a Creation replaces, are the
// pods of the snapshot and must not be changed. The caller owns the lists, Status and the
// results of Creation.Pod.
type Decision struct {
	// Claim lists the pods to adopt, to release and to free of their finalizer. The
	// rest of the decision assumes that all claims succeed.
	Claim []Claim
	// Delete lists the pods to delete. Those with StripFirst lose their finalizer before the
	// deletion, so that they do not count. See [Decision.VerdictFirst].
	Delete []Deletion
	// Create lists the pods to create. Create and Delete are never both set.
	Create []Creation
	// Status is the status to write before any finalizer in Strip is removed; nil
	// when the status does not change.
	Status *batchv1.JobStatus
	// Strip lists the pods whose finalizers are removed once Status is stored.
	Strip []*corev1.Pod
	// Deferred is the work that the caps leave for the next sync.
	Deferred Deferred
	// Backoff is the backoff record that holds once Status is stored.
	Backoff backoff.Record
	// Requeue is the longest time until the next sync; 0 when no sync is needed until
	// the Job or its pods change.
	Requeue time.Duration
	// Events lists the events to send once Status is stored. A Machine adds one for each pod
	// that it creates or deletes, with the reason SuccessfulCreate, FailedCreate,
	// SuccessfulDelete or FailedDelete.
	Events []Event
	// Metrics lists the counter increments to record once Status is stored.
	Metrics []Metric
	// Action is the label action of the metric job_syncs_total: reconciling,
	// tracking, pods_created or pods_deleted. The caller supplies the other labels.
	// Action is empty where the Job controller does not count the sync: the Job has
	// ended, or the last status write is not observed yet.
	Action string

	made *outcome // nil in the zero Decision
}

// Deferred is the work that MaxChanges, MaxUncounted and MaxRemovals leave for the next
// sync. It counts the pods to create, the surplus pods to delete, and the pods to count
// or to free of their finalizer.
type Deferred struct{ Create, Delete, Strip int32 }

// detached returns the decision with copies of the lists that it shares with its plan.
func (d Decision) detached() Decision {
	d.Delete, d.Create = slices.Clone(d.Delete), slices.Clone(d.Create)
	return d
}

// Clone returns a copy whose lists and status the caller may change.
func (d Decision) Clone() Decision {
	d = d.detached()
	d.Claim, d.Strip = slices.Clone(d.Claim), slices.Clone(d.Strip)
	d.Status, d.Events, d.Metrics = d.Status.DeepCopy(), slices.Clone(d.Events), cloneMetrics(d.Metrics)
	return d
}

func cloneMetrics(all []Metric) []Metric {
	all = slices.Clone(all)
	for i := range all {
		all[i].Labels = maps.Clone(all[i].Labels)
	}
	return all
}

// Idle reports whether the decision contains no action.
func (d Decision) Idle() bool {
	return len(d.Claim)+len(d.Delete)+len(d.Create)+len(d.Strip) == 0 && d.Status == nil
}
