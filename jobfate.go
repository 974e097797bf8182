package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/jobstatus"
)

// Snapshot is all that a decision depends on. Nothing in it is ever changed.
type Snapshot struct {
	// Job is the Job as the caller last saw it.
	Job *batchv1.Job
	// Pods are the pods that the Job controls and the pods of its namespace
	// that nobody controls, in any order. Pods of other owners are ignored.
	Pods []*corev1.Pod
	// Now is the one reading of the clock. A zero Now is an error.
	Now time.Time
	// InFlight names the caller's own writes that Job and Pods do not show yet.
	InFlight InFlight
	// Backoff is what the last decision asked to remember; zero at the start, when
	// it is in doubt.
	Backoff backoff.Record
	// BackoffInDoubt says that a status may have recorded failures that Backoff
	// lacks: the caller has just started, or has had no answer when it last stored
	// one. The pods that have been counted and are still there are then read as
	// well. That is right as long as the pods that failed since the last success,
	// and that last success, have not been deleted.
	BackoffInDoubt bool
	// LastStatus is when the caller last stored a status of the Job. Only
	// WithThrottle needs it.
	LastStatus time.Time
}

// InFlight names the writes that have been acknowledged and are not to be seen
// in the snapshot yet. A caller that reads its own writes leaves it empty.
type InFlight struct {
	// Job is the UID of the Job that the writes were made for. What was in
	// flight for an earlier Job of the same name does not concern this one.
	// Empty means this one.
	Job types.UID
	// Status says that a status has been stored and that the Job in the
	// snapshot is older. Nothing is decided until it is seen.
	Status bool
	// Creations and Deletions are the numbers of pods created and deleted, and
	// not seen yet. Meanwhile no pods are created or deleted, and the Job does
	// not end.
	Creations int
	Deletions int
	// Stripped are the pods whose finalizer was removed, and who may still show
	// it: those that were counted, released or freed, and those that lost it before
	// they were deleted. They are not counted again. Naming one twice does no harm.
	Stripped []types.UID
}

// Decision is what to do for a Job, and what holds once all of it has
// succeeded. The protocol of the package says in which order to act.
type Decision struct {
	// Claim are the pods to adopt, to release, and to free. The rest of the
	// decision takes for granted that they succeed.
	Claim []Claim
	// Delete are the pods to delete. Some lose their finalizer first, so that
	// they do not count.
	Delete []Deletion
	// Create are the pods to create; never together with Delete.
	Create []Creation
	// Status is to be stored before any finalizer goes; nil when nothing
	// changes.
	Status *batchv1.JobStatus
	// Strip are the pods whose finalizer is to be removed, only once Status is
	// stored.
	Strip []*corev1.Pod
	// Backoff is to be remembered once Status is stored; at once without a Status.
	Backoff backoff.Record
	// Requeue says to look again no later than this; 0 when only a change to
	// the Job or its pods is worth a look.
	Requeue time.Duration
	// Events are what to tell the user once Status is stored, if it is set. Creations
	// and deletions have events of their own.
	Events []Event
	// Metrics are the counters to add to once Status is stored, if it is set.
	Metrics []Metric
	// Action is the label action of job_syncs_total, whose other labels are the
	// caller's to give: reconciling, tracking, pods_created or pods_deleted. It is
	// empty where the Job controller counts no sync: the Job has ended, or is not
	// to be seen as it is.
	Action string
	// Why explains.
	Why Explanation

	uid  types.UID
	next *step // what Revise and Settle go on from, if there is anything to go on with
}

// Decide returns what to do for the Job in the snapshot. It fails, and decides
// nothing, in two cases: the snapshot cannot be understood, with an [InputError] that
// names the fields; or another controller manages the Job, with [ErrNotManaged], by
// errors.Is. Neither goes away by trying again.
func Decide(s Snapshot, opts ...Option) (Decision, error) {
	v, err := read(s, opts)
	if err != nil {
		return Decision{}, err
	}
	switch {
	case jobstatus.Finished(v.job) != nil:
		return v.afterTheEnd(), nil
	case v.inFlight.Status:
		return v.waitForJob(), nil
	}
	return v.plan().decision(Done{}), nil
}

// StatusPatch returns Status as a JSON merge patch for the Job's status
// subresource, with the UID and the given resource version; nil when there is
// no status to store.
func (d Decision) StatusPatch(resourceVersion string) []byte {
	if d.Status == nil {
		return nil
	}
	return jobstatus.Patch(d.uid, resourceVersion, d.Status)
}

// Idle reports whether the decision asks for nothing.
func (d Decision) Idle() bool {
	return len(d.Claim)+len(d.Delete)+len(d.Create)+len(d.Strip) == 0 && d.Status == nil
}
