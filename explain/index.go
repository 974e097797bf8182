package explain

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
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
	// IndexStuck: the pod of the index is active, and cannot start or finish.
	IndexStuck Code = "Stuck"
	// IndexActive: the index has an active pod.
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
	// FailedPod is the name of the last failed pod.
	FailedPod string
	// Fault says how the pod failed. It is for people.
	Fault string
	// Match is the rule that the failed pod matches.
	Match failurepolicy.Match
}

// String returns the reason as a line: "index 3: backing off until 12:00:40
// after 2 failures", "indexes 2-4,7: pods cannot pull an image".
func (r IndexReason) String() string {
	switch r.Indexes.Len() {
	case 0:
		return r.Text
	case 1:
		return fmt.Sprintf("index %s: %s", r.Indexes, r.Text)
	}
	return fmt.Sprintf("indexes %s: %s", r.Indexes, r.Text)
}

// Indexes returns, for an Indexed Job, the state of each index that is not completed, in
// order. Neighbouring indexes without a pod and in the same state are returned as one;
// [Explanation.Groups] also merges those that are not neighbours. For a Job that is not
// Indexed it returns none.
func (e Explanation) Indexes() iter.Seq[IndexReason] {
	return func(yield func(IndexReason) bool) {
		for _, s := range e.unfinished() {
			if !yield(s.IndexReason) {
				return
			}
		}
	}
}

// Index returns the state of one index, which may be completed. For many indexes use
// Indexes, because each call of Index reads every pod.
func (e Explanation) Index(index int32) IndexReason {
	o, r := e.about, IndexReason{Indexes: indexset.Range(index, index)}
	switch {
	case o.Outcome == nil || !o.View.Spec.Indexed || index < 0 || index >= *o.View.Spec.Completions:
		r.Code, r.Text = IndexUnknown, "not an index of the Job"
	case o.View.Totals.Results.Completed.Contains(index):
		r.Code, r.Text = IndexCompleted, "completed"
	default:
		r = newFacts(e).states(r.Indexes)[0].IndexReason
	}
	return r
}

// groupOrder is the order of groups. Groups that need attention come first.
var groupOrder = []Code{IndexFailed, IndexStuck, IndexBackingOff, IndexTerminating, IndexRemoving,
	IndexCreating, IndexActive, IndexPending, IndexStopped}

// Groups returns, for an Indexed Job, the states of the indexes that are not completed,
// with one entry for all indexes in the same state. Text has no details of single indexes,
// and Until is the earliest of the group. Failed indexes come first, then stuck ones.
// Groups with the same code are in the order of their first index. The number of groups is
// small, whatever the number of indexes.
func (e Explanation) Groups() []IndexReason {
	type group struct {
		Reason
		indexes indexset.Builder
	}
	var order []*group
	groups := map[Reason]*group{} // by the reason without Until
	for _, s := range e.unfinished() {
		key := Reason{Code: s.Code, Text: cmp.Or(s.groupText, s.Text)}
		g := groups[key]
		if g == nil {
			g = &group{Reason: Reason{key.Code, s.Until, key.Text}}
			groups[key], order = g, append(order, g)
		}
		if s.Until.Before(g.Until) {
			g.Until = s.Until
		}
		for iv := range s.Indexes.Intervals() {
			g.indexes.AddRange(iv.First, iv.Last)
		}
	}
	slices.SortStableFunc(order, func(a, b *group) int {
		return cmp.Compare(slices.Index(groupOrder, a.Code), slices.Index(groupOrder, b.Code))
	})
	var out []IndexReason
	for _, g := range order {
		if !g.Until.IsZero() {
			g.Text += ", the first until " + e.about.clock(g.Until)
		}
		out = append(out, IndexReason{Indexes: g.indexes.Set(), Reason: g.Reason})
	}
	return out
}

// state is the state of an index, or of neighbouring indexes without a pod.
type state struct {
	IndexReason
	groupText string // Text without the details of single indexes; empty if Text has none
}

// unfinished returns the states of the indexes that are not completed, in order; none for a
// Job that is not Indexed.
func (e Explanation) unfinished() []state {
	o := e.about
	if o.Outcome == nil || !o.View.Spec.Indexed {
		return nil
	}
	return newFacts(e).states(o.View.Totals.Results.Completed.Complement(*o.View.Spec.Completions))
}

// states returns the states of the given indexes, none of which is completed, in order.
func (f *facts) states(indexes indexset.Set) (out []state) {
	var withPods indexset.Builder
	for index, p := range f.podsByIndex(indexes) {
		withPods.Add(index)
		out = append(out, f.stateWithPods(index, p))
	}
	rest, failed := indexes.Difference(withPods.Set()), f.View.Totals.Results.Failed
	for iv := range rest.Intersection(failed).Intervals() {
		out = append(out, state{IndexReason: IndexReason{Indexes: indexset.Range(iv.First, iv.Last), Reason: Reason{Code: IndexFailed, Text: "failed"}}})
	}
	for iv := range rest.Difference(failed).Intervals() {
		out = append(out, state{IndexReason: IndexReason{Indexes: indexset.Range(iv.First, iv.Last), Reason: f.reasonForNoPod()}})
	}
	slices.SortFunc(out, func(a, b state) int {
		first, _ := a.Indexes.Min()
		other, _ := b.Indexes.Min()
		return cmp.Compare(first, other)
	})
	return out
}

// indexPods are the pods of one index that explain its state.
type indexPods struct {
	active, terminating, failed *census.Record
	creating                    bool
}

// podsByIndex returns the pods that explain the given indexes. An index without a known or
// planned pod has no entry.
func (f *facts) podsByIndex(indexes indexset.Set) map[int32]*indexPods {
	known := make(map[int32]*indexPods)
	of := func(index int32) *indexPods {
		if known[index] == nil {
			known[index] = &indexPods{}
		}
		return known[index]
	}
	for r := range f.View.Census.All() {
		if !r.Valid || !indexes.Contains(r.Index) {
			continue
		}
		p := of(r.Index)
		if r.Active && (p.active == nil || f.stays(r, p.active)) {
			p.active = r
		}
		if r.Failed && (p.failed == nil || r.CompareFailures(p.failed) > 0) {
			p.failed = r
		}
		if r.Terminating && (p.terminating == nil || r.Before(p.terminating)) {
			p.terminating = r
		}
	}
	for _, c := range f.Plan.Work.Create {
		if indexes.Contains(c.Index) {
			of(c.Index).creating = true
		}
	}
	return known
}

// stays reports whether active pod a rather than b stands for their index: the one that the
// decision does not delete, else the first.
func (f *facts) stays(a, b *census.Record) bool {
	_, goes := f.deleted[a.Pod.UID]
	if _, other := f.deleted[b.Pod.UID]; goes != other {
		return other
	}
	return a.Before(b)
}

// stateWithPods explains an index with a known or planned pod by the first reason that
// applies. The end of the Job ranks after pods that still exist, and before reasons about
// the next pod.
func (f *facts) stateWithPods(index int32, p *indexPods) (s state) {
	s.Indexes = indexset.Range(index, index)
	if r := cmp.Or(f.View.Census.Predecessor(index), p.failed); r != nil {
		last := f.failure(r)
		s.Pod, s.FailedPod, s.Fault, s.Match = last.Pod, last.Pod, last.Fault, last.Match
		s.Failures = r.Counts.Next(true).Total()
	}
	switch {
	case p.active != nil:
		s.Pod = p.active.Pod.Name
	case p.terminating != nil:
		s.Pod = p.terminating.Pod.Name
	}
	switch {
	case f.View.Totals.Results.Failed.Contains(index):
		s.Code, s.Text = IndexFailed, f.textFailed(s.IndexReason)
	case p.active != nil:
		f.explainActive(&s, p.active)
	case p.creating:
		s.Code, s.Text = IndexCreating, "creating a pod"
	case p.terminating != nil && (f.View.Spec.ReplaceFailedOnly || !f.goesOn()):
		s.Code, s.Text, s.groupText = IndexTerminating, "waiting for pod "+s.Pod+" to terminate", "waiting for pods to terminate"
	case !f.goesOn() && s.Match.Action == batchv1.PodFailurePolicyActionFailJob:
		s.Code, s.Text = IndexStopped, "stopped; its pod matched FailJob "+s.Match.Explain()
	case f.goesOn() && !f.View.Spec.Suspended && f.View.Spec.Parallelism > 0 && f.View.IndexDelay(index) > 0:
		s.Code, s.Until, s.groupText = IndexBackingOff, f.View.Now.Add(f.View.IndexDelay(index)), "backing off"
		s.Text = fmt.Sprintf("backing off until %s after %s", f.clock(s.Until), count(s.Failures, "failure"))
	default:
		s.Reason = f.reasonForNoPod()
	}
	return s
}

// explainActive explains an index with an active pod.
func (f *facts) explainActive(s *state, r *census.Record) {
	if cause, goes := f.deleted[r.Pod.UID]; goes {
		s.Code, s.Text, s.groupText = IndexRemoving, "deleting pod "+s.Pod+": "+string(cause), "deleting pods: "+string(cause)
	} else if symptom := f.symptomOf(r.Pod); symptom.attention == AttentionStuck {
		s.Code, s.Text, s.groupText = IndexStuck, "pod "+s.Pod+" "+symptom.cannot+": "+symptom.message, "pods "+symptom.cannot
	} else {
		s.Code, s.Text, s.groupText = IndexActive, "active, pod "+s.Pod, "active"
	}
}

// textFailed says why an index failed.
func (f *facts) textFailed(r IndexReason) string {
	switch {
	case r.FailedPod == "":
		return "failed"
	case r.Match.Action == batchv1.PodFailurePolicyActionFailIndex:
		return "failed: its pod matched FailIndex " + r.Match.Explain()
	}
	return fmt.Sprintf("failed after %s, the limit is %d", count(r.Failures, "failure"), f.View.Spec.Limit.PerIndex)
}

// reasonForNoPod says why an index without a pod gets none.
func (f *facts) reasonForNoPod() Reason {
	switch code := f.reason.Code; {
	case code == JobFinished:
		return Reason{Code: IndexStopped, Text: "stopped, because the Job is " + string(jobstatus.OutcomeOf(f.View.Job).Phase)}
	case code == JobEnding:
		return Reason{Code: IndexStopped, Text: "stopped, because the Job " + f.ending()}
	case code == JobDeleting:
		return Reason{Code: IndexStopped, Text: "stopped, because " + f.reason.Text}
	case f.Plan.Work.Wait > 0 && f.View.Spec.PerIndex() && !f.View.Config.FillFreeSlots:
		return Reason{Code: IndexPending, Text: "pending, behind lower indexes that are backing off"}
	case code == JobRunning || code == JobCreating || code == JobBackingOff && f.View.Spec.PerIndex():
		return Reason{Code: IndexPending, Text: "pending, limited by parallelism"}
	}
	return Reason{Code: IndexPending, Text: "pending: " + f.reason.Text}
}
