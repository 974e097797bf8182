package census

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
)

// DefaultCap is the number of UIDs that the uncounted lists may hold, which
// keeps them under 20 kB (KEP-2307 § Algorithm).
const DefaultCap = 500

// Ending says whether the Job is about to end.
type Ending uint8

const (
	// Running Jobs are not about to end.
	Running Ending = iota
	// Succeeding Jobs release all their pods; those still running are not
	// counted.
	Succeeding
	// Failing Jobs release all their pods and count those still running as
	// failed.
	Failing
)

// AccountInputs are what accounting depends on beside the pods.
type AccountInputs struct {
	Ending Ending
	// Deleting says that the Job itself is being deleted: every finalizer goes.
	Deleting bool
	// KeepFailsJob says that a FailJob verdict is in force and the status does not
	// hold it yet. The pods that carry it stay: without them, and without the
	// verdict in the status, the next sync would not know of it.
	KeepFailsJob bool
	// Counted are the indexes that the status already holds as completed.
	Counted indexset.Set
	// Cap is the number of UIDs that the lists may hold; 0 and below mean
	// DefaultCap. Once it is reached, no further finalizer goes either, so that
	// a large Job does not starve small ones. The indexes that an Indexed Job
	// completes meanwhile count towards it too. A pod that needs no record does
	// not, as in the Job controller.
	Cap int
	// Removals is how many finalizers may go at most; 0 and below mean any number.
	Removals int
}

// Account says what to record in the status, and which finalizers may go once
// that status is stored.
type Account struct {
	// Lists are the uncounted UIDs to store.
	Lists *batchv1.UncountedTerminatedPods
	// Succeeded and Failed are what the counters gain in the same write: UIDs
	// that left the lists because their finalizer is gone.
	Succeeded, Failed int32
	// Strip are the pods whose finalizer may go.
	Strip []*corev1.Pod
	// Handled counts the failed pods by the action of the rule that they match.
	Handled map[batchv1.PodFailurePolicyAction]int
	// Recorded is the number of pods that this write newly records.
	Recorded int
	// Full says that Cap or Removals was reached: there may be more to record when
	// this is done, and until then the Job does not end.
	Full bool
	// Left is the number of pods that could be recorded, or lose their finalizer, but
	// for that.
	Left int
}

// Account works out the next step of counting.
func (c *Census) Account(in AccountInputs) Account {
	lists := c.classifier.Uncounted.status()
	a := Account{Lists: &lists}
	a.release(c)
	if in.Cap <= 0 {
		in.Cap = DefaultCap
	}
	candidates := c.candidates(in)
	a.strip(c, in, candidates)
	a.Left = candidates.n - len(a.Strip)
	a.Full = a.Full || a.Left > 0
	return a
}

// strip takes the candidates whose finalizer may go now.
func (a *Account) strip(c *Census, in AccountInputs, candidates *ordered[*Record]) {
	// Lists that are full already take no further UID; those in them still leave.
	overfull := a.listed() >= in.Cap
	if overfull {
		candidates = c.listedAmong(in)
	}
	var indexes int
	for _, chunk := range candidates.chunks {
		for _, r := range chunk {
			a.Strip = append(a.Strip, r.Pod)
			indexes += a.record(r, c, in)
			if a.Full = !overfull && indexes+a.listed() >= in.Cap || len(a.Strip) == in.Removals; a.Full {
				return
			}
		}
	}
}

// candidates returns the tracked pods whose finalizer may go, in order.
func (c *Census) candidates(in AccountInputs) *ordered[*Record] {
	l := in.list()
	if l == countable && c.ended == 0 {
		return &ordered[*Record]{}
	}
	list := c.list(l)
	if !in.KeepFailsJob {
		return list
	}
	var candidates []*Record
	for r := range list.all() {
		if in.frees(c, r) {
			candidates = append(candidates, r)
		}
	}
	return newOrdered(list.compare, candidates)
}

// listedAmong returns those of the candidates that the uncounted lists hold.
func (c *Census) listedAmong(in AccountInputs) *ordered[*Record] {
	var candidates []*Record
	for uid := range c.classifier.Uncounted.listed {
		if r := c.records[uid]; r != nil && in.frees(c, r) {
			candidates = append(candidates, r)
		}
	}
	sortRecords(candidates)
	return newOrdered((*Record).compare, candidates)
}

// list is the list that the candidates are taken from. Failed pods that wait for their
// replacement are not countable.
func (in AccountInputs) list() list {
	if in.Deleting || in.Ending != Running {
		return tracked
	}
	return countable
}

// frees reports whether a pod is a candidate.
func (in AccountInputs) frees(c *Census, r *Record) bool {
	l := in.list()
	return kinds[l].belongs(c, r) && (l == tracked || !in.KeepFailsJob || !r.FailsJob)
}

func (a *Account) listed() int { return len(a.Lists.Succeeded) + len(a.Lists.Failed) }

// release moves out of the lists the UIDs whose finalizer is gone.
func (a *Account) release(c *Census) {
	if c.held == c.classifier.Uncounted.Len() {
		return
	}
	gone := func(uid types.UID) bool {
		r := c.records[uid]
		return r == nil || !r.Tracked || !r.Listed
	}
	left := settle(a.Lists, gone)
	*a.Lists, a.Succeeded, a.Failed = *left.Lists, left.Succeeded, left.Failed
}

// record enters a pod into the lists, unless it is there or does not count. It
// returns the number of indexes that the pod completes.
func (a *Account) record(r *Record, c *Census, in AccountInputs) int {
	switch {
	case r.Succeeded && c.classifier.Indexed:
		if r.Valid && !in.Counted.Contains(r.Index) {
			// The index is new to the status, even if a list has the pod.
			if !r.Listed {
				a.Recorded++
			}
			return 1
		}
	case r.Listed:
	case r.Succeeded:
		a.Recorded++
		a.Lists.Succeeded = append(a.Lists.Succeeded, r.Pod.UID)
	case r.Valid && (r.Failed || in.Ending == Failing):
		if a.handle(c.classifier.Policy, r.Pod) {
			a.Recorded++
			a.Lists.Failed = append(a.Lists.Failed, r.Pod.UID)
		}
	}
	return 0
}

// handle notes the action of the rule that the pod matches, and reports whether
// the pod counts.
func (a *Account) handle(p *failurepolicy.Policy, pod *corev1.Pod) bool {
	match := p.Match(pod)
	if !match.Matched() {
		return true
	}
	if a.Handled == nil {
		a.Handled = make(map[batchv1.PodFailurePolicyAction]int)
	}
	a.Handled[match.Action]++
	return match.Counts()
}

// Settled is what a status holds once some finalizers are gone.
type Settled struct {
	// Lists are the UIDs that remain uncounted.
	Lists *batchv1.UncountedTerminatedPods
	// Succeeded and Failed are what the counters gain.
	Succeeded, Failed int32
}

// Settle returns what is left of the account's lists after the finalizers of
// the given pods are gone.
func (a Account) Settle(gone []types.UID) Settled {
	set := make(map[types.UID]struct{}, len(gone))
	for _, uid := range gone {
		set[uid] = struct{}{}
	}
	return settle(a.Lists, func(uid types.UID) bool { _, ok := set[uid]; return ok })
}

func settle(lists *batchv1.UncountedTerminatedPods, gone func(types.UID) bool) Settled {
	if lists == nil {
		lists = &batchv1.UncountedTerminatedPods{}
	}
	succeeded, failed := without(lists.Succeeded, gone), without(lists.Failed, gone)
	return Settled{
		Lists:     &batchv1.UncountedTerminatedPods{Succeeded: succeeded, Failed: failed},
		Succeeded: int32(len(lists.Succeeded) - len(succeeded)),
		Failed:    int32(len(lists.Failed) - len(failed)),
	}
}

func without(list []types.UID, gone func(types.UID) bool) []types.UID {
	var left []types.UID
	for _, uid := range list {
		if !gone(uid) {
			left = append(left, uid)
		}
	}
	return left
}
