package inflight

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// Memory is what a caller remembers of a Job between two looks. The zero Memory is
// that of a caller that has just started. A copy stays as it is when the original
// goes on.
type Memory struct {
	// Job is the UID of the Job. When the Job is another one, all of this is
	// forgotten.
	Job types.UID
	// Backoff is what the last decision asked to remember; the caller sets it, in step
	// 7 of the protocol.
	Backoff backoff.Record
	// Sure says that the last status was stored. Before that a write whose answer
	// was lost, or that of an earlier process, may have recorded pods, and Backoff
	// is in doubt.
	Sure bool
	// Stored is the resource version of the last status, until it is seen.
	Stored string
	// LastStatus is when it was stored.
	LastStatus time.Time
	// Created, Deleted and Stripped are the pods that were created, deleted or have
	// lost their finalizer, and do not show it yet. They are sorted.
	Created, Deleted, Stripped []types.UID
}

// View is what a caller sees of a Job.
type View struct {
	// Job is nil when there is none.
	Job *batchv1.Job
	// Pods are those that [jobfate.Snapshot] asks for.
	Pods []*corev1.Pod
	// Now is the one reading of the clock.
	Now time.Time
	// Certain reports whether the view is sure to show what has become of a pod
	// after all that was written to it, also when that is that the pod is gone or
	// that somebody has undone a write. The handler of delete events knows, or a
	// live read. The resource version that the removal of a finalizer is answered
	// with does not tell: a pod that goes with its last finalizer still has the
	// version from before. Nil is never: then only what shows is forgotten, and a pod that is
	// gone before it was ever seen is waited for without end.
	Certain func(types.UID) bool
}

// Snapshot is the snapshot to decide on. It forgets the writes whose effects the
// view shows. Without a Job all is forgotten, and there is nothing to decide on.
func (m *Memory) Snapshot(v View) jobfate.Snapshot {
	s := jobfate.Snapshot{Job: v.Job, Pods: v.Pods, Now: v.Now}
	if v.Job == nil {
		*m = Memory{}
		return s
	}
	if m.Job != v.Job.UID {
		*m = Memory{Job: v.Job.UID}
	}
	if m.Stored != "" && !older(v.Job.ResourceVersion, m.Stored) {
		m.Stored = ""
	}
	m.forgetSeen(&v)
	s.InFlight = jobfate.InFlight{
		Job: m.Job, Status: m.Stored != "",
		Creations: len(m.Created), Deletions: len(m.Deleted), Stripped: m.Stripped,
	}
	s.Backoff, s.BackoffInDoubt, s.LastStatus = m.Backoff, !m.Sure, m.LastStatus
	return s
}

// forgetSeen forgets the writes to pods whose effects show, and those that somebody
// has undone.
func (m *Memory) forgetSeen(v *View) {
	if len(m.Created)+len(m.Deleted)+len(m.Stripped) == 0 {
		return
	}
	shown := make(map[types.UID]*corev1.Pod, len(v.Pods))
	for _, pod := range v.Pods {
		if pod != nil {
			shown[pod.UID] = pod
		}
	}
	m.Created = left(m.Created, v, func(uid types.UID) bool { return shown[uid] == nil })
	m.Deleted = left(m.Deleted, v, func(uid types.UID) bool { return shown[uid] != nil && shown[uid].DeletionTimestamp == nil })
	m.Stripped = left(m.Stripped, v, func(uid types.UID) bool { return tracking.Keys{}.HasFinalizer(shown[uid]) })
}

// left are the pods of a list that are neither seen nor certain.
func left(list []types.UID, v *View, unseen func(types.UID) bool) []types.UID {
	return slices.DeleteFunc(slices.Clone(list), func(uid types.UID) bool {
		return !unseen(uid) || v.Certain != nil && v.Certain(uid)
	})
}

// Create remembers that a pod was created. A creation without an answer has no UID to
// remember: make up the name of the pod, and send it again.
func (m *Memory) Create(uid types.UID) { m.Created = with(m.Created, uid) }

// Delete remembers that a pod was deleted.
func (m *Memory) Delete(uid types.UID) { m.Deleted = with(m.Deleted, uid) }

// Strip remembers that the finalizer of a pod was removed: of one that was counted,
// released, freed or deleted.
func (m *Memory) Strip(uid types.UID) { m.Stripped = with(m.Stripped, uid) }

// with adds a pod to a list that copies may share.
func with(list []types.UID, uid types.UID) []types.UID {
	at, has := slices.BinarySearch(list, uid)
	if has {
		return list
	}
	return slices.Insert(slices.Clip(list), at, uid)
}

// Store remembers that a status was stored: the Job as the API server returned it,
// and when.
func (m *Memory) Store(job *batchv1.Job, at time.Time) {
	m.Sure, m.Stored, m.LastStatus = true, job.ResourceVersion, at
}

// Doubt remembers that a status may have been stored or not: there was no answer. It
// may as well be called before each write of a status.
func (m *Memory) Doubt() { m.Sure = false }

// InFlight reports whether there is any write that does not show yet.
func (m *Memory) InFlight() bool {
	return m.Stored != "" || len(m.Created)+len(m.Deleted)+len(m.Stripped) > 0
}

// older reports whether a resource version is older than another. They are numbers
// without leading zeros, of any size; what is none is older until it is the same.
func older(version, than string) bool {
	if !isNumber(version) || !isNumber(than) {
		return version != than
	}
	if len(version) != len(than) {
		return len(version) < len(than)
	}
	return version < than
}

func isNumber(version string) bool {
	for _, c := range version {
		if c < '0' || c > '9' {
			return false
		}
	}
	return version != ""
}
