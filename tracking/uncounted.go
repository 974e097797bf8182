package tracking

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Uncounted is status.uncountedTerminatedPods without empty and duplicate UIDs. A UID in
// both lists counts as failed: a pod is never credited with a success that it may not have
// had.
type Uncounted struct {
	Succeeded, Failed []types.UID
	// Damaged says that the lists contained a duplicate or empty UID, which the API
	// server rejects.
	Damaged bool
	// Listed has the UIDs of both lists, with true for those listed as failed.
	Listed map[types.UID]bool
}

func readUncounted(in *batchv1.UncountedTerminatedPods) Uncounted {
	if in == nil || len(in.Succeeded)+len(in.Failed) == 0 {
		return Uncounted{}
	}
	u := Uncounted{Listed: make(map[types.UID]bool, len(in.Succeeded)+len(in.Failed))}
	for _, uid := range in.Failed {
		u.Failed = u.list(u.Failed, uid, true)
	}
	for _, uid := range in.Succeeded {
		u.Succeeded = u.list(u.Succeeded, uid, false)
	}
	u.Damaged = len(u.Listed) != len(in.Succeeded)+len(in.Failed)
	return u
}

// list appends a UID to its list, unless the UID is empty or listed already.
func (u *Uncounted) list(out []types.UID, uid types.UID, failed bool) []types.UID {
	if _, twice := u.Listed[uid]; twice || uid == "" {
		return out
	}
	u.Listed[uid] = failed
	return append(out, uid)
}
