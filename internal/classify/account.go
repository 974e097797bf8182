package classify

import (
	"cmp"
	"iter"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobfate/jobfate/indexset"
)

// DefaultCap is the number of UIDs that the uncounted lists may hold, which
// keeps them under 20 kB (KEP-2307 § Algorithm).
const DefaultCap = 500

// AccountInputs holds what accounting depends on besides the pods.
type AccountInputs struct {
	// Ending is the interim condition with which the Job ends; empty while it runs. A Job
	// that ends removes the finalizers of all its pods. Pods that still run are not
	// counted if it succeeds, and are counted as failed if it fails.
	Ending batchv1.JobConditionType
	// Deleting says that the Job itself is being deleted: every finalizer is removed.
	Deleting bool
	// KeepFailsJob says that a pod matches a FailJob rule and the status does not have that verdict yet. Such
	// pods keep their finalizer: without them the next sync would not reach the verdict.
	KeepFailsJob bool
	// Counted lists the indexes that the status already holds as completed.
	Counted indexset.Set
	// Cap is the number of UIDs that the lists may hold; 0 and below mean DefaultCap.
	// Once it is reached, no further finalizer is removed, so that a large Job does not
	// starve small ones. The indexes that this sync completes count towards it too. A
	// pod that needs no record does not, as in the Job controller.
	Cap int
	// Removals is the largest number of finalizers to remove; 0 and below mean any
	// number.
	Removals int
}

// All reports whether every tracked pod is a candidate. Otherwise the candidates are those that
// have finished and do not wait for their replacement.
func (in *AccountInputs) All() bool { return in.Deleting || in.Ending != "" }

// Account says what to record in the status, and which finalizers may be removed once that
// status is stored.
type Account struct {
	// Settled holds the lists to store, and what the same write adds to the counters.
	Settled
	// Strip lists the pods whose finalizer may be removed.
	Strip []*corev1.Pod
	// Handled counts the failed pods by the action of the rule that they match.
	Handled map[batchv1.PodFailurePolicyAction]int
	// Recorded is the number of pods that this write newly records.
	Recorded int
	// Full says that Cap or Removals was reached. More pods may be left to record, and
	// the Job does not end before a sync that is not full.
	Full bool
	// Deferred is the number of pods that Cap and Removals leave for a later sync.
	Deferred int
}

// Account computes the next step of counting. The n candidates, ordered by index and UID, are
// the pods that [AccountInputs.All] describes. gone reports whether the pod with a UID no
// longer exists, or has lost its finalizer.
func (c *Classifier) Account(in AccountInputs, candidates iter.Seq[*PodRecord], n int,
	gone func(types.UID) bool) Account {
	if in.Cap <= 0 {
		in.Cap = DefaultCap
	}
	if in.KeepFailsJob && !in.All() {
		left := slices.DeleteFunc(slices.Collect(candidates), (*PodRecord).FailsJob)
		candidates, n = slices.Values(left), len(left)
	}
	a := Account{Settled: settle(c.Uncounted.Succeeded, c.Uncounted.Failed, gone)}
	if n == 0 {
		return a
	}
	taken := accounting{Account: a, of: c, in: in}
	taken.overfull = taken.listed() >= in.Cap
	candidates(taken.take)
	taken.Deferred = n - len(taken.Strip)
	taken.Full = taken.Full || taken.Deferred > 0
	return taken.Account
}

// accounting is an Account that takes one candidate after the other.
type accounting struct {
	Account
	of *Classifier
	in AccountInputs
	// overfull says that the lists were full from the start: no UID is added, and only
	// listed pods lose their finalizer.
	overfull bool
	indexes  int // the indexes that pods complete
}

// take strips a candidate and records it. It reports whether another one may follow.
func (a *accounting) take(r *PodRecord) bool {
	if a.overfull && !r.Listed {
		return true
	}
	a.Strip = append(a.Strip, r.Pod)
	a.record(r)
	a.Full = !a.overfull && a.indexes+a.listed() >= a.in.Cap || len(a.Strip) == a.in.Removals
	return !a.Full
}

func (a *accounting) listed() int { return len(a.Lists.Succeeded) + len(a.Lists.Failed) }

// record adds a pod to the lists, unless it is listed already or does not count.
func (a *accounting) record(r *PodRecord) {
	switch {
	case r.Succeeded && a.of.Indexed:
		if r.Valid && !a.in.Counted.Contains(r.Index) {
			// The index is new to the status, even if the pod is listed.
			a.indexes++
			if !r.Listed {
				a.Recorded++
			}
		}
	case r.Listed:
	case r.Succeeded:
		a.Recorded++
		a.Lists.Succeeded = append(a.Lists.Succeeded, r.Pod.UID)
	case r.Valid && (r.Failed || a.in.Ending == batchv1.JobFailureTarget):
		action := r.Action()
		if !r.Failed { // only now does the policy decide about it
			action = a.of.Policy.Match(r.Pod).Action
		}
		if action != "" {
			if a.Handled == nil {
				a.Handled = make(map[batchv1.PodFailurePolicyAction]int)
			}
			a.Handled[action]++
		}
		if action != batchv1.PodFailurePolicyActionIgnore {
			a.Recorded++
			a.Lists.Failed = append(a.Lists.Failed, r.Pod.UID)
		}
	}
}

// Settled is the change of the status when UIDs leave the lists because their pods have lost
// the finalizer.
type Settled struct {
	// Lists holds the uncounted UIDs to store.
	Lists *batchv1.UncountedTerminatedPods
	// Succeeded and Failed are added to the counters.
	Succeeded, Failed int32
}

// AddTo returns a status with these lists and with higher counters. In an Indexed Job
// status.succeeded counts indexes, not pods.
func (s Settled) AddTo(status batchv1.JobStatus, indexed bool) batchv1.JobStatus {
	status.UncountedTerminatedPods = s.Lists
	status.Failed = Sum(status.Failed, s.Failed)
	if !indexed {
		status.Succeeded = Sum(status.Succeeded, s.Succeeded)
	}
	return status
}

// Settle returns the lists without the given pods, which have lost their finalizer, and
// what the counters gain by that.
func (a Account) Settle(gone []types.UID) Settled {
	lists := cmp.Or(a.Lists, &batchv1.UncountedTerminatedPods{})
	return settle(lists.Succeeded, lists.Failed, sets.New(gone...).Has)
}

func settle(succeeded, failed []types.UID, gone func(types.UID) bool) Settled {
	lists := &batchv1.UncountedTerminatedPods{Succeeded: without(succeeded, gone), Failed: without(failed, gone)}
	return Settled{lists, int32(len(succeeded) - len(lists.Succeeded)), int32(len(failed) - len(lists.Failed))}
}

func without(list []types.UID, gone func(types.UID) bool) (left []types.UID) {
	for _, uid := range list {
		if !gone(uid) {
			left = append(left, uid)
		}
	}
	return left
}

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

// ReadUncounted reads the lists of a status.
func ReadUncounted(in *batchv1.UncountedTerminatedPods) Uncounted {
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
