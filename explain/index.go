package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/internal/census"
	"github.com/jobfate/jobfate/internal/decide"
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

// state is the reason of neighbouring indexes, with the text for their group.
type state struct {
	first, last int32
	IndexReason        // reason sets its Indexes
	groupText   string // Text without the details of single indexes; empty if Text has none
}

func (s *state) reason() IndexReason {
	s.Indexes = indexset.Range(s.first, s.last)
	return s.IndexReason
}

// indexPods are the pods of one index that explain its state.
type indexPods struct {
	active, terminating, failed *census.Record
	creating                    bool
}

// indexes explains the indexes of one decision. It computes the shared facts once.
type indexes struct {
	*facts
	removing map[types.UID]decide.Cause
}

func (e Explanation) indexes() indexes {
	x := indexes{facts: evidenceOf(e), removing: make(map[types.UID]decide.Cause, len(e.about.Plan.Work.Delete))}
	for _, d := range e.about.Plan.Work.Delete {
		x.removing[d.Record.Pod.UID] = d.Cause
	}
	return x
}

// indexReason returns the reason of one index that is not completed.
func (e Explanation) indexReason(index int32) state {
	x := e.indexes()
	if p := x.podsByIndex(func(i int32) bool { return i == index })[index]; p != nil {
		return x.stateWithPods(index, p)
	}
	return x.stateWithoutPods(index, index)
}

// indexReasons returns the reasons of all indexes that are not completed.
func (e Explanation) indexReasons() []state {
	x, results := e.indexes(), &e.about.View.Totals.Results
	var out []state
	var withPods indexset.Builder
	for index, p := range x.podsByIndex(func(i int32) bool { return !results.Completed.Contains(i) }) {
		withPods.Add(index)
		out = append(out, x.stateWithPods(index, p))
	}
	rest := results.Completed.Union(withPods.Set()).Complement(*x.View.Spec.Completions)
	for _, alike := range []indexset.Set{rest.Intersection(results.Failed), rest.Difference(results.Failed)} {
		for iv := range alike.Intervals() {
			out = append(out, x.stateWithoutPods(iv.First, iv.Last))
		}
	}
	slices.SortFunc(out, func(a, b state) int { return cmp.Compare(a.first, b.first) })
	return out
}

// stateWithoutPods explains a range of indexes without a known pod. Either all of them have
// failed, or none has.
func (x *indexes) stateWithoutPods(first, last int32) state {
	reason := Reason{Code: IndexFailed, Text: "failed"}
	if !x.View.Totals.Results.Failed.Contains(first) {
		reason = x.reasonForNoPod()
	}
	return state{first: first, last: last, IndexReason: IndexReason{Reason: reason}}
}

// podsByIndex returns the pods that explain the wanted indexes. An index without a known or
// planned pod has no entry.
func (x *indexes) podsByIndex(wanted func(int32) bool) map[int32]*indexPods {
	known := make(map[int32]*indexPods)
	of := func(index int32) *indexPods {
		if known[index] == nil {
			known[index] = &indexPods{}
		}
		return known[index]
	}
	for r := range x.View.Census.All() {
		if !r.Valid || !wanted(r.Index) {
			continue
		}
		p := of(r.Index)
		if r.Active && (p.active == nil || x.stays(r, p.active)) {
			p.active = r
		}
		if r.Failed && (p.failed == nil || later(r, p.failed)) {
			p.failed = r
		}
		if r.Terminating && (p.terminating == nil || r.Before(p.terminating)) {
			p.terminating = r
		}
	}
	for _, r := range x.View.Census.Predecessors() {
		if wanted(r.Index) {
			of(r.Index).failed = r
		}
	}
	for _, c := range x.Plan.Work.Create {
		if wanted(c.Index) {
			of(c.Index).creating = true
		}
	}
	return known
}

// stays reports whether active pod a rather than b stands for their index: the one that the
// decision does not delete, else the first.
func (x *indexes) stays(a, b *census.Record) bool {
	_, goes := x.removing[a.Pod.UID]
	if _, other := x.removing[b.Pod.UID]; goes != other {
		return other
	}
	return a.Before(b)
}

// later reports whether a is the later failed pod of an index.
func later(a, b *census.Record) bool {
	if c := a.Counts.Compare(b.Counts); c != 0 {
		return c > 0
	}
	return b.Before(a)
}

// stateWithPods explains an index with a known or planned pod.
func (x *indexes) stateWithPods(index int32, p *indexPods) state {
	r := state{first: index, last: index}
	if p.failed != nil {
		pod := p.failed.Pod
		r.Failures = p.failed.Counts.Next(true).Total()
		r.Match = x.View.Spec.Policy.Match(pod)
		r.Pod, r.FailedPod, r.Fault = pod.Name, pod.Name, fault(pod)
	}
	switch {
	case p.active != nil:
		r.Pod = p.active.Pod.Name
	case p.terminating != nil:
		r.Pod = p.terminating.Pod.Name
	}
	r.Reason, r.groupText = x.reasonWithPods(index, p, r.IndexReason)
	return r
}

// reasonWithPods returns the first reason that applies, and its text for a group of
// indexes; the text is empty if it is that of the reason. The end of the Job ranks after
// pods that still exist, and before reasons about the next pod.
func (x *indexes) reasonWithPods(index int32, p *indexPods, r IndexReason) (Reason, string) {
	switch {
	case x.View.Totals.Results.Failed.Contains(index):
		return Reason{Code: IndexFailed, Text: x.textFailed(r)}, ""
	case p.active != nil:
		return x.reasonOfActive(p.active.Pod)
	case p.creating:
		return Reason{Code: IndexCreating, Text: "creating a pod"}, ""
	case p.terminating != nil && (x.View.Spec.ReplaceFailedOnly || x.stopping()):
		return Reason{Code: IndexTerminating, Text: "waiting for pod " + r.Pod + " to terminate"}, "waiting for pods to terminate"
	case x.stopping() && r.Match.Action == batchv1.PodFailurePolicyActionFailJob:
		return Reason{Code: IndexStopped, Text: "stopped; its pod matched FailJob " + r.Match.Explain()}, ""
	case !x.stopping() && !x.held() && x.View.IndexDelay(index) > 0:
		until := x.View.Now.Add(x.View.IndexDelay(index))
		return Reason{Code: IndexBackingOff, Until: until,
			Text: fmt.Sprintf("backing off until %s after %s", x.clock(until), failures(r.Failures))}, "backing off"
	}
	return x.reasonForNoPod(), ""
}

// reasonOfActive returns the reason of an index with an active pod.
func (x *indexes) reasonOfActive(pod *corev1.Pod) (Reason, string) {
	if cause, ok := x.removing[pod.UID]; ok {
		return Reason{Code: IndexRemoving, Text: fmt.Sprintf("deleting pod %s: %s", pod.Name, cause)}, "deleting pods: " + string(cause)
	}
	if row, message := x.causeOf(pod); row.attention == AttentionStuck {
		return Reason{Code: IndexStuck, Text: "pod " + pod.Name + " " + row.cannot + colon(message)}, "pods " + row.cannot
	}
	return Reason{Code: IndexActive, Text: "active, pod " + pod.Name}, "active"
}

// stopping reports whether no index gets another pod.
func (x *indexes) stopping() bool { return stops(x.reason.Code) }

// stops reports whether a Job with this reason gets no more pods.
func stops(code Code) bool { return code == JobFinished || code == JobEnding || code == JobDeleting }

// held reports whether no index gets a pod until the Job's spec is edited.
func (x *indexes) held() bool {
	return x.reason.Code == JobSuspended || x.reason.Code == JobNoParallelism
}

// textFailed says why an index failed.
func (x *indexes) textFailed(r IndexReason) string {
	switch {
	case r.FailedPod == "":
		return "failed"
	case r.Match.Action == batchv1.PodFailurePolicyActionFailIndex:
		return "failed: its pod matched FailIndex " + r.Match.Explain()
	}
	return fmt.Sprintf("failed after %s, the limit is %d", failures(r.Failures), x.View.Spec.Limit.PerIndex)
}

// reasonForNoPod says why an index without a pod gets none.
func (x *indexes) reasonForNoPod() Reason {
	switch x.reason.Code {
	case JobFinished:
		return Reason{Code: IndexStopped, Text: "stopped, because the Job is " + string(jobstatus.OutcomeOf(x.View.Job).Phase)}
	case JobEnding:
		return Reason{Code: IndexStopped, Text: "stopped, because the Job " + x.ending()}
	case JobDeleting:
		return Reason{Code: IndexStopped, Text: "stopped, because " + x.reason.Text}
	}
	text := "pending, limited by parallelism"
	switch {
	case x.View.Config.FillFreeSlots && (x.reason.Code == JobCreating || x.reason.Code == JobBackingOff):
	case x.reason.Code == JobCreating && x.Plan.Work.Wait > 0, x.reason.Code == JobBackingOff && x.View.Spec.PerIndex:
		text = "pending, behind lower indexes that are backing off"
	case x.reason.Code != JobRunning && x.reason.Code != JobCreating:
		text = "pending: " + x.reason.Text
	}
	return Reason{Code: IndexPending, Text: text}
}

// fault says how a pod failed, from its status: the reason, the first container that did
// not exit with 0, and the disruption condition.
func fault(pod *corev1.Pod) string {
	var parts []string
	if pod.Status.Reason != "" {
		parts = append(parts, pod.Status.Reason)
	}
	if container := faultyContainer(pod); container != "" {
		parts = append(parts, container)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			parts = append(parts, strings.TrimSuffix("disrupted by "+c.Reason, " by "))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case pod.DeletionTimestamp != nil:
		return "deleted"
	}
	return "the pod gives no reason"
}

func faultyContainer(pod *corev1.Pod) string {
	for _, all := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range all {
			end := all[i].State.Terminated
			if end == nil || end.ExitCode == 0 {
				continue
			}
			text := fmt.Sprintf("container %s, exit code %d", all[i].Name, end.ExitCode)
			if end.Reason != "" && end.Reason != "Error" {
				text += ", " + end.Reason
			}
			return text
		}
	}
	return ""
}
