package census

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Uncounted is status.uncountedTerminatedPods without empty and duplicate UIDs. A UID in
// both lists counts as failed: a pod is never credited with a success that it may not have
// had.
type Uncounted struct {
	// Damaged says that the lists contained a duplicate or empty UID, which the API
	// server rejects.
	Damaged bool

	succeeded []types.UID
	failed    []types.UID
	listed    map[types.UID]bool // true: as failed
}

// ReadUncounted reads the lists of a status.
func ReadUncounted(in *batchv1.UncountedTerminatedPods) Uncounted {
	if in == nil || len(in.Succeeded)+len(in.Failed) == 0 {
		return Uncounted{}
	}
	u := Uncounted{listed: make(map[types.UID]bool, len(in.Succeeded)+len(in.Failed))}
	for _, uid := range in.Failed {
		u.failed = u.list(u.failed, uid, true)
	}
	for _, uid := range in.Succeeded {
		u.succeeded = u.list(u.succeeded, uid, false)
	}
	u.Damaged = u.Len() != len(in.Succeeded)+len(in.Failed)
	return u
}

// list appends a UID to its list, unless the UID is empty or listed already.
func (u *Uncounted) list(out []types.UID, uid types.UID, failed bool) []types.UID {
	if _, twice := u.listed[uid]; twice || uid == "" {
		return out
	}
	u.listed[uid] = failed
	return append(out, uid)
}

// Len returns the number of UIDs in both lists.
func (u Uncounted) Len() int { return len(u.succeeded) + len(u.failed) }
