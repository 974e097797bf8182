package explain

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
)

// The state of an index.
const (
	// IndexCompleted: a pod of the index has succeeded.
	IndexCompleted Code = "Completed"
	// IndexFailed: the index has failed and gets no more pods.
	IndexFailed Code = "Failed"
	// IndexRemoving: the pod of the index is deleted now.
	IndexRemoving Code = "Removing"
	// IndexStuck: the pod of the index is active, and cannot start or finish. This code and the next two are those of
	// [Explanation.With].
	IndexStuck Code = "Stuck"
	// IndexWaiting: the pod of the index is active, and cannot start or finish yet.
	IndexWaiting Code = "Waiting"
	// IndexStarting: the pod of the index is active, and has yet to run.
	IndexStarting Code = "Starting"
	// IndexActive: the pod of the index runs.
	IndexActive Code = "Active"
	// IndexCreating: a pod of the index is created now.
	IndexCreating Code = "Creating"
	// IndexTerminating: the index waits for its pod to terminate.
	IndexTerminating Code = "Terminating"
	// IndexStopped: the index has neither succeeded nor failed, and gets no more pods
	// because the Job ends or has ended.
	IndexStopped Code = "Stopped"
	// IndexBackingOff: the failed pod of the index is replaced after a delay.
	IndexBackingOff Code = "BackingOff"
	// IndexPending: the index has no pod, and waits for a free slot.
	IndexPending Code = "Pending"
	// IndexUnknown: the Job has no such index.
	IndexUnknown Code = "Unknown"
)

// IndexReason is the state of one or more indexes.
type IndexReason struct {
	Indexes indexset.Set
	Reason
	// Pod is the name of the last known pod of a single index: the active pod, the
	// terminating pod, or the last failed pod. If there is none, or if there are several
	// indexes, it is empty. The same holds for the fields below.
	Pod string
	// Failures is the number of failures of the index, as far as its pods show it.
	Failures int32
	// LastFailure is the last failed pod; zero if none is known.
	LastFailure Failure
}

// String returns the reason as a line: "index 3: backing off until 12:00:40
// after 2 failures", "indexes 2-4,7: pods cannot pull an image".
func (r IndexReason) String() string {
	n := r.Indexes.Len()
	return textIf(n > 0, either(n == 1, "index ", "indexes ")+r.Indexes.String()+": ") + r.Text
}

// Indexes returns, for an Indexed Job, the state of each index that is not completed, in
// order. Neighbouring indexes without a pod and in the same state are returned as one;
// [Explanation.Groups] also merges those that are not neighbours. For a Job that is not
// Indexed it returns none.
func (e Explanation) Indexes() iter.Seq[IndexReason] { return slices.Values(e.unfinished(false)) }

// Index returns the state of one index, completed or not. For many indexes use Indexes, because
// each call of Index reads every pod.
func (e Explanation) Index(index int32) IndexReason {
	f, r := e.facts, IndexReason{Indexes: indexset.Range(index, index)}
	switch {
	case f == nil || !f.Indexed() || index < 0 || index >= *f.Spec.Completions:
		r.Code, r.Text = IndexUnknown, "not an index of the Job"
	case f.Progress.Completed.Contains(index):
		r.Code, r.Text = IndexCompleted, "completed"
	default:
		r = f.states(r.Indexes, false)[0]
	}
	return r
}

// groupOrder is the order of groups. Groups that need attention come first.
var groupOrder = []Code{IndexFailed, IndexStuck, IndexWaiting, IndexBackingOff, IndexTerminating, IndexRemoving,
	IndexCreating, IndexStarting, IndexActive, IndexPending, IndexStopped}

// Groups returns, for an Indexed Job, the states of the indexes that are not completed,
// with one entry for all indexes in the same state. Text has no details of single indexes,
// and Until is the earliest of the group. Failed indexes come first, then stuck ones.
// Groups with the same code are in the order of their first index. The number of groups is
// small, whatever the number of indexes.
func (e Explanation) Groups() []IndexReason {
	var groups []IndexReason
	var indexes []indexset.Builder
	at := map[Reason]int{} // the positions of the groups, by their reasons without Until
	for _, s := range e.unfinished(true) {
		key := Reason{Code: s.Code, Text: s.Text}
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups, indexes = i, append(groups, IndexReason{Reason: s.Reason}),
				append(indexes, indexset.Builder{})
		}
		groups[i].Until = earliest(groups[i].Until, s.Until)
		for iv := range s.Indexes.Intervals() {
			indexes[i].AddRange(iv.First, iv.Last)
		}
	}
	for i := range groups {
		g := &groups[i]
		g.Indexes = indexes[i].Set()
		g.Text += textIf(!g.Until.IsZero(), ", the first until "+e.facts.clock(g.Until))
	}
	slices.SortStableFunc(groups, func(a, b IndexReason) int {
		return cmp.Compare(slices.Index(groupOrder, a.Code), slices.Index(groupOrder, b.Code))
	})
	return groups
}

// unfinished returns the states of the indexes that are not completed, in order; none for a
// Job that is not Indexed. grouped leaves the details of single indexes out of the texts.
func (e Explanation) unfinished(grouped bool) []IndexReason {
	f := e.facts
	if f == nil || !f.Indexed() {
		return nil
	}
	return f.states(f.Progress.Completed.Complement(*f.Spec.Completions), grouped)
}

// states returns the states of the given indexes, none of which is completed, in order.
func (f *facts) states(indexes indexset.Set, grouped bool) (all []IndexReason) {
	var withPods indexset.Builder
	for index, p := range f.podsByIndex(indexes) {
		withPods.Add(index)
		all = append(all, f.state(indexset.Range(index, index), p, grouped))
	}
	rest, failed := indexes.Difference(withPods.Set()), f.Progress.FailedIndexes
	for _, same := range []indexset.Set{rest.Intersection(failed), rest.Difference(failed)} {
		for iv := range same.Intervals() {
			all = append(all, f.state(indexset.Range(iv.First, iv.Last), indexPods{}, grouped))
		}
	}
	slices.SortFunc(all, func(a, b IndexReason) int {
		first, _ := a.Indexes.Min()
		other, _ := b.Indexes.Min()
		return cmp.Compare(first, other)
	})
	return all
}

// indexPods holds the pods of one index that explain its state. Of several active pods it holds the
// one that the decision does not delete; of several failed pods, the last that failed; otherwise
// the first. fails is the pod whose failure fails the index, preferably one that is not counted
// yet.
type indexPods struct {
	active, terminating, failed *record
	fails                       *record
	deletedBecause              string // why the active pod is deleted
	creating                    bool
}

// podsByIndex returns the pods that explain the given indexes. An index without a known or
// planned pod has no entry.
func (f *facts) podsByIndex(indexes indexset.Set) map[int32]indexPods {
	known := make(map[int32]indexPods)
	for i := range f.decision.Create {
		if index := f.decision.Create[i].Index; indexes.Contains(index) {
			known[index] = indexPods{creating: true}
		}
	}
	for _, r := range f.pods {
		if !r.Valid || !indexes.Contains(r.Index) {
			continue
		}
		p, why := known[r.Index], f.deleted[r.Pod.UID]
		if r.Active && (p.active == nil || p.deletedBecause != "" && why == "") {
			p.active, p.deletedBecause = r, why
		}
		if r.Failed && (p.failed == nil || r.CompareFailures(p.failed) > 0) {
			p.failed = r
		}
		if r.FailsIndex() && failsBefore(r, p.fails) {
			p.fails = r
		}
		if r.Terminating {
			p.terminating = cmp.Or(p.terminating, r)
		}
		known[r.Index] = p
	}
	return known
}

// failsBefore reports whether the failure of an index is explained by a pod rather than by
// another; nil is none.
func failsBefore(r, other *record) bool {
	if other == nil || r.Finalized != other.Finalized {
		return other == nil || r.Finalized
	}
	return r.CompareFailures(other) > 0
}

// state explains an index, or neighbouring indexes without a pod, by the first reason that
// applies. The end of the Job ranks after pods that still exist, and before reasons about
// the next pod.
func (f *facts) state(indexes indexset.Set, p indexPods, grouped bool) IndexReason {
	index, _ := indexes.Min()
	s := IndexReason{Indexes: indexes}
	failed := f.Progress.FailedIndexes.Contains(index)
	if r := cmp.Or(either(failed, p.fails, nil), f.Predecessor(index), p.failed); r != nil {
		s.Pod, s.Failures, s.LastFailure = r.Pod.Name, r.Failures, f.failure(r)
	}
	if r := cmp.Or(p.active, p.terminating); r != nil {
		s.Pod = r.Pod.Name
	}
	var shown PodState // of the active pod
	if p.active != nil {
		shown = f.podStates[p.active.Pod.UID]
	}
	match := s.LastFailure.Match
	goesOn, failures := f.goesOn(), count(s.Failures, "failure")
	delay := f.DelayOf(index)
	pods := either(grouped, "pods", "pod "+s.Pod)
	switch {
	case failed && p.fails == nil: // the pod is gone
		s.Code, s.Text = IndexFailed, "failed"
	case failed && match.Action == batchv1.PodFailurePolicyActionFailIndex:
		s.Code, s.Text = IndexFailed, "failed: its pod matched FailIndex "+match.Explain()
	case failed:
		// ignored failures do not count towards the limit
		counted := count(p.fails.Counted, "failure")
		s.Code, s.Text = IndexFailed, "failed after "+counted+", the limit is "+strconv.Itoa(int(f.Spec.Limit.PerIndex))
	case p.deletedBecause != "":
		s.Code, s.Text = IndexRemoving, "deleting "+pods+", because "+deletionReasons[p.deletedBecause]
	case shown.Code != "":
		s.Code, s.Text = shown.Code, pods+" "+shown.Cannot+textIf(!grouped, ": "+shown.Why)
	case p.active != nil:
		s.Code, s.Text = IndexActive, "active"+textIf(!grouped, ", "+pods)
	case p.creating:
		s.Code, s.Text = IndexCreating, "creating a pod"
	case p.terminating != nil && (f.Spec.ReplaceFailedOnly || !goesOn):
		s.Code, s.Text = IndexTerminating, "waiting for "+pods+" to terminate"
	case !goesOn && match.Action == batchv1.PodFailurePolicyActionFailJob:
		s.Code, s.Text = IndexStopped, "not run again; its pod matched FailJob "+match.Explain()
	case goesOn && !f.suspended() && f.parallelism() > 0 && delay > 0:
		s.Until = f.Now.Add(delay)
		s.Code, s.Text = IndexBackingOff, "backing off"+textIf(!grouped, " until "+f.clock(s.Until)+" after "+failures)
	default:
		s.Reason = f.stateWithoutPod(s.LastFailure.Pod != "")
	}
	return s
}

// stateWithoutPod says why an index without a pod gets none. Without a limit per index, the status does not list those
// whose pod has failed.
func (f *facts) stateWithoutPod(failed bool) Reason {
	code, perIndex := f.reason.Code, f.PerIndex()
	stopped := either(failed && !perIndex, IndexFailed, IndexStopped)
	not := either(failed, "failed, and not done", "not done")
	return cmp.Or(
		when(code == JobFinished, stopped, not+", because the Job is "+string(jobstatus.OutcomeOf(f.Job).Phase)),
		when(code == JobEnding, stopped, not+", because the Job "+f.ends("succeeds", "fails")+": "+
			f.End.Condition.Reason),
		when(code == JobDeleting, stopped, not+", because "+f.reason.Text),
		when(f.Plan.Wait > 0 && perIndex && !f.Spec.FillFreeSlots, IndexPending,
			"pending, behind lower indexes that are backing off"),
		when(code == JobRunning || code == JobCreating || code == JobBackingOff && perIndex, IndexPending,
			"pending, limited by parallelism"),
		when(true, IndexPending, "pending: "+f.reason.Text),
	)
}

// Totals counts the indexes of an Indexed Job by their state, each index counted
// once. For another Job they count pods, including pods that it still needs.
type Totals struct {
	// Done: succeeded.
	Done int
	// Running: the main containers run.
	Running int
	// Starting: active, and the main containers have yet to run.
	Starting int
	// Waiting: active, and unable to start or finish for a while.
	Waiting int
	// Stuck: active, but unable to start or finish.
	Stuck int
	// Terminating: being deleted, and replaced only after termination or not at all.
	Terminating int
	// BackingOff: without a pod until a delay ends.
	BackingOff int
	// Pending: without a pod, which is created now or when a slot is free.
	Pending int
	// Failed: failed indexes, or failed pods.
	Failed int
	// Stopped: neither done nor failed, and without a pod because the Job ends or has ended.
	Stopped int
}

// String returns the totals as a line, without those that are 0: "done 3400 · running 1900
// · stuck 78 · backing off 13 · failed 2".
func (t Totals) String() string {
	part := func(name string, n int) string { return textIf(n > 0, fmt.Sprintf(" · %s %d", name, n)) }
	return fmt.Sprintf("done %d", t.Done) + part("running", t.Running) + part("starting", t.Starting) +
		part("waiting", t.Waiting) + part("stuck", t.Stuck) +
		part("terminating", t.Terminating) + part("backing off", t.BackingOff) + part("pending", t.Pending) +
		part("failed", t.Failed) + part("not done", t.Stopped)
}

// Totals returns the totals before the decision is carried out.
func (e Explanation) Totals() Totals {
	f := e.facts
	if f == nil {
		return Totals{}
	}
	done := int(f.Progress.Succeeded)
	waiting := 0 // of the pending: missing pods that wait for the backoff of the Job
	if f.Plan.Wait > 0 && !f.PerIndex() {
		waiting = int(f.Plan.Want - f.Progress.Active - either(f.Spec.ReplaceFailedOnly, f.Progress.Terminating, 0))
	}
	n := map[Code]int{}
	for _, s := range e.unfinished(false) {
		n[s.Code] += s.Indexes.Len()
	}
	if !f.Indexed() {
		failed := f.Progress.Failed
		if status := &f.Job.Status; f.reason.Code == JobFinished { // nothing more is counted
			done, failed = int(status.Succeeded), status.Failed
		}
		lacking, code := len(f.decision.Create)+waiting, either(f.goesOn(), IndexPending, IndexStopped)
		if f.Spec.Completions != nil {
			lacking = max(0, int(*f.Spec.Completions)-done-int(f.Progress.Active))
		}
		n = map[Code]int{code: lacking, IndexTerminating: int(f.Progress.Terminating), IndexFailed: int(failed)}
		n[IndexActive] = int(f.Progress.Active)
		for _, r := range f.pods {
			if s := f.podStates[r.Pod.UID]; r.Active && s.Code != "" {
				n[s.Code]++
				n[IndexActive]--
			}
		}
	}
	return Totals{
		Done:        done,
		Running:     n[IndexActive],
		Starting:    n[IndexStarting],
		Waiting:     n[IndexWaiting],
		Stuck:       n[IndexStuck],
		Terminating: n[IndexRemoving] + n[IndexTerminating],
		BackingOff:  n[IndexBackingOff] + waiting,
		Pending:     n[IndexCreating] + n[IndexPending] - waiting,
		Failed:      n[IndexFailed],
		Stopped:     n[IndexStopped],
	}
}
