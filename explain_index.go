package jobfate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/indexset"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// What holds for an index.
const (
	// IndexCompleted: a pod of the index has succeeded.
	IndexCompleted Code = "Completed"
	// IndexFailed: the index has failed and gets no more pods.
	IndexFailed Code = "Failed"
	// IndexActive: the index has an active pod.
	IndexActive Code = "Active"
	// IndexCreating: a pod of the index is created now.
	IndexCreating Code = "Creating"
	// IndexTerminating: the index waits for its pod to terminate.
	IndexTerminating Code = "Terminating"
	// IndexBackingOff: the failed pod of the index is replaced after a delay.
	IndexBackingOff Code = "BackingOff"
	// IndexPending: the index has no pod, and waits for a free place.
	IndexPending Code = "Pending"
	// IndexUnknown: there is no such index.
	IndexUnknown Code = "Unknown"
)

// IndexReason says what holds for the indexes from First to Last.
type IndexReason struct {
	First, Last int32
	Reason
	// Pod is the name of the pod that the reason is about: the active one, or
	// the last that failed; empty when none is known.
	Pod string
	// Failures are the failures of the index, as far as its pods tell.
	Failures int32
	// Match is the rule that the failed pod matches.
	Match failurepolicy.Match
}

// String returns the reason as a line: "index 3: backing off until 12:00:40
// after 2 failures".
func (r IndexReason) String() string {
	if r.First == r.Last {
		return fmt.Sprintf("index %d: %s", r.First, r.Text)
	}
	return fmt.Sprintf("indexes %d-%d: %s", r.First, r.Last, r.Text)
}

// witness is what the pods tell of an index.
type witness struct {
	active, terminating, failed *tracking.Record
	creating                    bool
}

// indexReasons returns the reasons of all indexes that are not completed.
func (s *step) indexReasons() []IndexReason {
	known := s.witnesses()
	var out []IndexReason
	var witnessed indexset.Builder
	for index, w := range known {
		if s.fates.Completed.Contains(index) {
			continue
		}
		witnessed.Add(index)
		out = append(out, s.witnessed(index, w))
	}
	rest := s.fates.Completed.Union(witnessed.Set()).Complement(*s.completions)
	for iv := range rest.Intersection(s.fates.Failed).Intervals() {
		out = append(out, IndexReason{First: iv.First, Last: iv.Last, Reason: Reason{Code: IndexFailed, Text: "failed"}})
	}
	for iv := range rest.Difference(s.fates.Failed).Intervals() {
		out = append(out, IndexReason{First: iv.First, Last: iv.Last, Reason: s.pending()})
	}
	slices.SortFunc(out, func(a, b IndexReason) int { return cmp.Compare(a.First, b.First) })
	return out
}

// witnesses gathers what the pods tell of the valid indexes.
func (s *step) witnesses() map[int32]*witness {
	known := make(map[int32]*witness)
	of := func(index int32) *witness {
		if known[index] == nil {
			known[index] = &witness{}
		}
		return known[index]
	}
	for i := range s.census.Records {
		r := &s.census.Records[i]
		if !r.Is(tracking.Valid) {
			continue
		}
		w := of(r.Index)
		if r.Is(tracking.Active) && (w.active == nil || r.Before(w.active)) {
			w.active = r
		}
		if r.Is(tracking.Failed) && (w.failed == nil || later(r, w.failed)) {
			w.failed = r
		}
		if r.Is(tracking.Terminating) && (w.terminating == nil || r.Before(w.terminating)) {
			w.terminating = r
		}
	}
	for _, r := range s.before.All() {
		of(r.Index).failed = r
	}
	for _, c := range s.work.create {
		of(c.Index).creating = true
	}
	return known
}

// later reports whether a is the later failed pod of an index.
func later(a, b *tracking.Record) bool {
	if x, y := a.Counts.Total(), b.Counts.Total(); x != y {
		return x > y
	}
	return b.Before(a)
}

// witnessed explains an index of which a pod is known.
func (s *step) witnessed(index int32, w *witness) IndexReason {
	r := IndexReason{First: index, Last: index}
	if w.failed != nil {
		r.Failures = w.failed.Counts.Next(true).Total()
		r.Match = s.policy.Match(w.failed.Pod)
		r.Pod = w.failed.Pod.Name
	}
	switch {
	case s.fates.Failed.Contains(index):
		r.Reason = Reason{Code: IndexFailed, Text: s.textFailed(r)}
	case w.active != nil:
		r.Pod = w.active.Pod.Name
		r.Reason = Reason{Code: IndexActive, Text: "active, pod " + r.Pod}
	case w.creating:
		r.Reason = Reason{Code: IndexCreating, Text: "a pod is created"}
	case w.terminating != nil && s.replaceFailedOnly:
		r.Pod = w.terminating.Pod.Name
		r.Reason = Reason{Code: IndexTerminating, Text: "waits for pod " + r.Pod + " to terminate"}
	case s.indexDelay(index) > 0:
		until := s.now.Add(s.indexDelay(index))
		r.Reason = Reason{Code: IndexBackingOff, Until: until,
			Text: fmt.Sprintf("backing off until %s after %s", s.clock(until), failures(r.Failures))}
	default:
		r.Reason = s.pending()
	}
	return r
}

// textFailed says by what an index failed.
func (s *step) textFailed(r IndexReason) string {
	switch {
	case r.Pod == "":
		return "failed"
	case r.Match.FailsIndex():
		return "failed by " + r.Match.Explain()
	}
	return fmt.Sprintf("failed after %s, the limit is %s", failures(r.Failures), strconv.Itoa(int(s.limit.PerIndex)))
}

// pending says why an index without a pod gets none.
func (s *step) pending() Reason {
	text := "pending, all places are taken"
	switch job := s.jobReason(); {
	case s.fillSlots:
	case job.Code == JobCreating && s.work.wait > 0, job.Code == JobBackingOff && s.perIndex:
		text = "pending, behind lower indexes that are backing off"
	case job.Code != JobRunning && job.Code != JobCreating:
		text = "pending, because " + job.Text
	}
	if jobstatus.Finished(s.job) != nil {
		text = "never run"
	}
	return Reason{Code: IndexPending, Text: text}
}
