package census

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/indexset"
)

// DefaultCap is the number of UIDs that the uncounted lists may hold, which
// keeps them under 20 kB (KEP-2307 § Algorithm).
const DefaultCap = 500

// AccountInputs are what accounting depends on besides the pods.
type AccountInputs struct {
	// Ending is the interim condition with which the Job ends; empty while it runs. A Job
	// that ends removes the finalizers of all its pods. Pods that still run are not
	// counted if it succeeds, and are counted as failed if it fails.
	Ending batchv1.JobConditionType
	// Deleting says that the Job itself is being deleted: every finalizer is removed.
	Deleting bool
	// KeepFailsJob says that a pod matches a FailJob rule and the status does not have
	// that verdict yet. Such pods keep their finalizer: without them the next sync
	// would not know of the verdict.
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

// Account says what to record in the status, and which finalizers may be removed once that
// status is stored.
type Account struct {
	// Settled are the lists to store, and what the same write adds to the counters.
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

// Account computes the next step of counting.
func (c *Census) Account(in AccountInputs) Account {
	u := &c.classifier.Uncounted
	a := Account{Settled: settle(u.succeeded, u.failed, func(uid types.UID) bool {
		r := c.records[uid]
		return r == nil || !r.Tracked
	})}
	if in.Cap <= 0 {
		in.Cap = DefaultCap
	}
	candidates := c.candidates(in)
	a.strip(c, in, candidates)
	a.Deferred = candidates.len() - len(a.Strip)
	a.Full = a.Full || a.Deferred > 0
	return a
}

// strip takes the candidates whose finalizer may be removed now, and records them.
func (a *Account) strip(c *Census, in AccountInputs, candidates *ordered[*Record]) {
	// If the lists are full from the start, no UID is added, and only listed pods lose
	// their finalizer.
	overfull := a.listed() >= in.Cap
	var indexes int
	for r := range candidates.all() {
		if overfull && !r.Listed {
			continue
		}
		a.Strip = append(a.Strip, r.Pod)
		indexes += a.record(r, c, in)
		if a.Full = !overfull && indexes+a.listed() >= in.Cap || len(a.Strip) == in.Removals; a.Full {
			return
		}
	}
}

// candidates returns the tracked pods whose finalizer may be removed, in order. While the
// Job runs, these are the finished pods that do not wait for their replacement.
func (c *Census) candidates(in AccountInputs) *ordered[*Record] {
	switch {
	case in.Deleting || in.Ending != "":
		return c.list(tracked)
	case !in.KeepFailsJob:
		return c.list(countable)
	}
	candidates := slices.Collect(c.list(countable).all())
	return newOrdered((*Record).compare, slices.DeleteFunc(candidates, (*Record).FailsJob))
}

func (a *Account) listed() int { return len(a.Lists.Succeeded) + len(a.Lists.Failed) }

// record adds a pod to the lists, unless it is listed already or does not count. It returns
// the number of indexes that the pod completes.
func (a *Account) record(r *Record, c *Census, in AccountInputs) int {
	switch {
	case r.Succeeded && c.classifier.Indexed:
		if r.Valid && !in.Counted.Contains(r.Index) {
			// The index is new to the status, even if the pod is listed.
			if !r.Listed {
				a.Recorded++
			}
			return 1
		}
	case r.Listed:
	case r.Succeeded:
		a.Recorded++
		a.Lists.Succeeded = append(a.Lists.Succeeded, r.Pod.UID)
	case r.Valid && (r.Failed || in.Ending == batchv1.JobFailureTarget):
		if a.handle(c.actionOn(r)) {
			a.Recorded++
			a.Lists.Failed = append(a.Lists.Failed, r.Pod.UID)
		}
	}
	return 0
}

// actionOn returns the action of the rule that a pod matches. A Job that fails counts its
// unfinished pods as failed, and only then does the policy decide about them.
func (c *Census) actionOn(r *Record) batchv1.PodFailurePolicyAction {
	if r.Failed {
		return r.Action()
	}
	return c.classifier.Policy.Match(r.Pod).Action
}

// handle counts the action of the rule that a pod matches, and reports whether the pod
// counts as failed.
func (a *Account) handle(action batchv1.PodFailurePolicyAction) bool {
	if action == "" {
		return true
	}
	if a.Handled == nil {
		a.Handled = make(map[batchv1.PodFailurePolicyAction]int)
	}
	a.Handled[action]++
	return action != batchv1.PodFailurePolicyActionIgnore
}

// Settled is the change of the status when UIDs leave the lists because their pods have lost
// the finalizer.
type Settled struct {
	// Lists holds the uncounted UIDs to store.
	Lists *batchv1.UncountedTerminatedPods
	// Succeeded and Failed are added to the counters.
	Succeeded, Failed int32
}

// AddTo sets the lists of a status, and adds to its counters. In an Indexed Job status.succeeded
// counts indexes, not pods.
func (s Settled) AddTo(out *batchv1.JobStatus, indexed bool) {
	out.UncountedTerminatedPods = s.Lists
	out.Failed = Sum(out.Failed, s.Failed)
	if !indexed {
		out.Succeeded = Sum(out.Succeeded, s.Succeeded)
	}
}

// Settle returns the lists without the given pods, which have lost their finalizer, and
// what the counters gain by that.
func (a Account) Settle(gone []types.UID) Settled {
	set := make(map[types.UID]struct{}, len(gone))
	for _, uid := range gone {
		set[uid] = struct{}{}
	}
	return settle(a.Lists.Succeeded, a.Lists.Failed, func(uid types.UID) bool { _, ok := set[uid]; return ok })
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
