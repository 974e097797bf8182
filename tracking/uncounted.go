package tracking

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Uncounted is status.uncountedTerminatedPods, read so that no UID stands in it
// twice and none is empty. Where a UID stands in both lists, it counts as
// failed: a pod is never credited with a success that it may not have had.
type Uncounted struct {
	Succeeded []types.UID
	Failed    []types.UID
	// Damaged says that the lists held what the API server refuses: a UID
	// twice, or an empty one.
	Damaged bool

	parked map[types.UID]bool // true: parked as failed
}

// ReadUncounted reads the lists of a status.
func ReadUncounted(in *batchv1.UncountedTerminatedPods) Uncounted {
	if in == nil || len(in.Succeeded)+len(in.Failed) == 0 {
		return Uncounted{}
	}
	u := Uncounted{parked: make(map[types.UID]bool, len(in.Succeeded)+len(in.Failed))}
	for _, uid := range in.Failed {
		u.Failed = u.park(u.Failed, uid, true)
	}
	for _, uid := range in.Succeeded {
		u.Succeeded = u.park(u.Succeeded, uid, false)
	}
	u.Damaged = u.Len() != len(in.Succeeded)+len(in.Failed)
	return u
}

func (u *Uncounted) park(list []types.UID, uid types.UID, failed bool) []types.UID {
	if _, twice := u.parked[uid]; twice || uid == "" {
		return list
	}
	u.parked[uid] = failed
	return append(list, uid)
}

// Len returns the number of UIDs in both lists.
func (u Uncounted) Len() int { return len(u.Succeeded) + len(u.Failed) }

// status returns the lists as the API has them; never nil, since a Job that is
// tracked has the field. Appending to them leaves u alone.
func (u Uncounted) status() *batchv1.UncountedTerminatedPods {
	return &batchv1.UncountedTerminatedPods{Succeeded: slices.Clip(u.Succeeded), Failed: slices.Clip(u.Failed)}
}
