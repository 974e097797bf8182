package loop

import (
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	"github.com/jobfate/jobfate/backoff"
	"github.com/jobfate/jobfate/tracking"
)

// View is what the loop sees: the content of its caches and the time.
type View struct {
	Now time.Time
	Job *batchv1.Job
	// Pods are those of the namespace that the Job or nobody controls; others
	// do no harm.
	Pods []*corev1.Pod
	// Absent reports whether a pod that is not in Pods is gone for certain, and
	// not merely still to be seen: the handler of delete events knows.
	Absent func(types.UID) bool
}

// memory is what the loop remembers of a Job. Nothing of it survives the process,
// and nothing has to.
type memory struct {
	job     types.UID
	backoff backoff.Record
	// sure says that the last status was stored. Until then backoff may lack what
	// a write without an answer, or another process, has recorded.
	sure                       bool
	stored                     string // the resource version of the last status
	created, deleted, stripped uids
}

type uids map[types.UID]bool

func (u *uids) add(uid types.UID) {
	if *u == nil {
		*u = uids{}
	}
	(*u)[uid] = true
}

// snapshot completes a view with what is remembered, after it has forgotten the
// writes whose effects the view shows.
func (m *memory) snapshot(v View) jobfate.Snapshot {
	if m.job != v.Job.UID {
		*m = memory{job: v.Job.UID} // another Job of the same name
	}
	shown := map[types.UID]*corev1.Pod{}
	for _, pod := range v.Pods {
		shown[pod.UID] = pod
	}
	maps.DeleteFunc(m.created, func(uid types.UID, _ bool) bool {
		return shown[uid] != nil || v.Absent(uid)
	})
	maps.DeleteFunc(m.deleted, func(uid types.UID, _ bool) bool {
		return shown[uid] == nil || shown[uid].DeletionTimestamp != nil
	})
	maps.DeleteFunc(m.stripped, func(uid types.UID, _ bool) bool {
		return shown[uid] == nil || !tracking.HasFinalizer(shown[uid])
	})
	if m.stored != "" && number(v.Job.ResourceVersion) >= number(m.stored) {
		m.stored = ""
	}
	return jobfate.Snapshot{
		Job: v.Job, Pods: v.Pods, Now: v.Now, Backoff: m.backoff, BackoffInDoubt: !m.sure,
		InFlight: jobfate.InFlight{
			Job: m.job, Status: m.stored != "",
			Creations: len(m.created), Deletions: len(m.deleted), Stripped: slices.Sorted(maps.Keys(m.stripped)),
		},
	}
}

// number is a resource version as a number: those of one kind of objects grow.
func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}
