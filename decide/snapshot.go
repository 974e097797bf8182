package decide

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/backoff"
)

// Snapshot is the input of a decision, besides the options. Decide changes nothing in it.
type Snapshot struct {
	// Job is the Job as the caller last read it.
	Job *batchv1.Job
	// Pods lists the pods that the Job controls and the pods of its namespace
	// without a controller, in any order. Pods of other owners are ignored.
	Pods []*corev1.Pod
	// Now is the one reading of the clock. A zero Now is an error.
	Now time.Time
	// Backoff is what the caller remembers of the failures of the Job: the Backoff of the last decision whose
	// Status was stored, or that had no Status. Leave out its UID (Record.Job) while it may lack failures:
	// from a start, which begins with the zero Record, and from a status write that had no answer or that
	// another process made, until the caller has stored a status. If another controller runs the Job, always
	// pass the zero Record.
	//
	// With a record without the UID the decision uses what the counted pods show that still exist, unless the
	// record has a later failure. The delay is the same, unless such a pod is gone: one that failed since the
	// last success, or that of the success. It may also differ if a pod failed in the same second as the success.
	Backoff backoff.Record
	// LastStatus is when the caller last stored a status of the Job. Only
	// Throttle needs it.
	LastStatus time.Time
	// InFlight lists the caller's writes that the API server has acknowledged and that Job and
	// Pods do not show yet.
	InFlight InFlight
}

// InFlight lists writes that a cache does not show yet.
type InFlight struct {
	// Status says that Job is older than the last status write. The decision then waits.
	Status bool
	// Creations and Deletions are the numbers of such pods. While there are any, the decision
	// neither creates nor deletes pods, unless the Job ends. Leave out pods that were deleted because the Job ends.
	Creations, Deletions int
	// Pods lists the pods that were created or deleted, as far as they are known, each once.
	// The status counts a created pod as active and a deleted one as terminating.
	Pods []PodInFlight
	// Stripped lists the UIDs of the pods whose finalizer was removed.
	Stripped []types.UID
}

func (f *InFlight) isNone() bool {
	return !f.Status && f.Creations == 0 && f.Deletions == 0 && len(f.Pods)+len(f.Stripped) == 0
}

// PodInFlight is a pod that was created or, with Deleted, deleted.
type PodInFlight struct {
	UID     types.UID
	Deleted bool
}

// Job returns what to do for the Job in the snapshot. It returns an [InputError] that
// names the fields if the snapshot or an option is invalid, and [ErrNotManaged] (use
// errors.Is) if another controller manages the Job. Retrying does not help with either.
func Job(s Snapshot, opts ...Option) (Decision, error) {
	var pods Pods
	pods.Replace(s.Pods)
	d, err := pods.Decide(s, opts...)
	if err != nil {
		return Decision{}, err
	}
	return d.detached(), nil
}
