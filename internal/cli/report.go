package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate"
	why "github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/internal/keys"
	"github.com/jobfate/jobfate/internal/kubefile"
	"github.com/jobfate/jobfate/tracking"
)

// report is what explain says. Its JSON is the output of -o json: fields are
// added, but none is removed or changes its meaning. A list is never null; what
// may be absent says so.
type report struct {
	Job jobRef `json:"job"`
	// Now is the time of the decision.
	Now time.Time `json:"now"`
	// ManagedBy is the controller that manages the Job; absent when it is the
	// Job controller.
	ManagedBy string `json:"managedBy,omitempty"`
	// Pods is the number of pods in the input, those of others included.
	Pods int `json:"pods"`
	// Reason is why the Job is where it is: above all, why there is no pod, or
	// no further one. Also are further reasons, in the order of their rank.
	Reason cause   `json:"reason"`
	Also   []cause `json:"also"`
	// Totals are the numbers of indexes, or of pods, by how they stand.
	Totals totals `json:"totals"`
	// Prospect is whether the Job can still succeed, and what that takes. Until
	// is its deadline.
	Prospect reason `json:"prospect"`

	// What to do, in this order.
	Claims    []claim    `json:"claims"`
	Deletions []deletion `json:"deletions"`
	Creations []creation `json:"creations"`
	// Status is what changes in the status before any finalizer goes.
	Status []change `json:"status"`
	// Finalizers are the names of the pods that lose the tracking finalizer.
	Finalizers []string `json:"finalizers"`
	// Settled is what changes in the status once these finalizers are gone.
	Settled []change `json:"settled"`
	// Finished says that the Job has then ended.
	Finished bool `json:"finished"`

	// Waits are what the Job waits for once all this is done.
	Waits []reason `json:"waits"`
	// RequeueSeconds is after how long to look again even if nothing happens,
	// and RequeueAt when that is; absent when only a change is worth a look.
	RequeueSeconds float64    `json:"requeueSeconds,omitempty"`
	RequeueAt      *time.Time `json:"requeueAt,omitempty"`

	// Completed are the completed indexes once all this is done, and Indexes
	// tell of the others, in order. Both are empty for a Job that is not
	// Indexed.
	Completed string  `json:"completed"`
	Indexes   []index `json:"indexes"`
	// LastFailure is that of the pod of the Job that failed last; absent when no
	// failed pod is known.
	LastFailure *failure `json:"lastFailure,omitempty"`
	// Notes are what was not as it should be in the input.
	Notes []Note `json:"notes"`

	indexed bool
	groups  []why.IndexReason
}

type jobRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID is absent from a Job that has none yet.
	UID string `json:"uid,omitempty"`
}

func refOf(job *batchv1.Job) jobRef { return jobRef{job.Namespace, job.Name, string(job.UID)} }

// reason is a code for programs and a text for people.
type reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
	// Until is when time alone changes it; absent when something else must.
	Until *time.Time `json:"until,omitempty"`
}

// cause is a reason with what to do about it.
type cause struct {
	reason
	// Advice is absent when there is nothing to do.
	Advice string `json:"advice,omitempty"`
	// Pods are the names of the pods affected.
	Pods []string `json:"pods"`
	// Attention is None, Wait, Held, Lost or Stuck.
	Attention string `json:"attention"`

	attention why.Attention
}

// totals count the indexes of an Indexed Job, or pods.
type totals struct {
	Done        int `json:"done"`
	Running     int `json:"running"`
	Stuck       int `json:"stuck"`
	Terminating int `json:"terminating"`
	BackingOff  int `json:"backingOff"`
	Pending     int `json:"pending"`
	Failed      int `json:"failed"`
	Stopped     int `json:"stopped"`
}

// claim is a pod to adopt, to release or to free of its finalizer.
type claim struct {
	Pod string `json:"pod"`
	// Action is adopt, release or free.
	Action string `json:"action"`
}

type deletion struct {
	Pod   string `json:"pod"`
	Cause string `json:"cause"`
	// FinalizerFirst says that the pod loses its finalizer before it is
	// deleted, so that it does not count.
	FinalizerFirst bool `json:"finalizerFirst"`
}

type creation struct {
	// NamePrefix is what the name of the pod begins with.
	NamePrefix string `json:"namePrefix"`
	// Index is absent unless the Job is Indexed.
	Index *int32 `json:"index,omitempty"`
	// Failures and Ignored are the failures of the index so far, as the pod is
	// told; absent without a backoff limit per index.
	Failures *int32 `json:"failures,omitempty"`
	Ignored  *int32 `json:"ignored,omitempty"`
	// Replaces is the failed pod from which the failures are taken over.
	Replaces string `json:"replaces,omitempty"`
}

// change is a field of the status. Old and new are its values: a number, text, a
// list of UIDs, a condition, or null when it is unset.
type change struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old"`
	New   json.RawMessage `json:"new"`

	was, is any
}

type condition struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// index is what holds for the indexes from First to Last.
type index struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
	reason
	// Pod is the last pod that is known; absent when there is none.
	Pod      string `json:"pod,omitempty"`
	Failures int32  `json:"failures"`
	failure

	line string
}

// failure is how a pod failed; absent when none is known.
type failure struct {
	// FailedPod is the last pod that failed, and Fault how it did.
	FailedPod string `json:"failedPod,omitempty"`
	Fault     string `json:"fault,omitempty"`
	// Rule is the rule of the pod failure policy that the failed pod matches;
	// absent when there is none.
	Rule *rule `json:"rule,omitempty"`

	policy bool // there are rules that could have matched
}

type rule struct {
	Position int    `json:"position"`
	Name     string `json:"name,omitempty"`
	Action   string `json:"action"`
	Text     string `json:"text"`
}

// Note is a code for programs and a text for people.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// NewNote returns a note, whose text may come from a network.
func NewNote(code, format string, args ...any) Note {
	return Note{code, utf8Only(fmt.Sprintf(format, args...))}
}

// newReport reports a decision on the input. The causes are in the order of their
// rank.
func newReport(in Objects, m *kubefile.Manifest, now time.Time, d jobfate.Decision, e why.Explanation, causes []why.Cause) *report {
	job := m.Job
	var settled *batchv1.JobStatus // once the finalizers are gone
	finished := false
	if o := d.Basis(); o != nil {
		s := o.Settle(mapped(d.Strip, func(pod *corev1.Pod) types.UID { return pod.UID }))
		settled, finished = s.Status, s.Finished
	}
	stored := &job.Status
	if d.Status != nil {
		stored = d.Status
	}
	r := &report{
		Job:        refOf(job),
		Now:        now.UTC(),
		ManagedBy:  managerOf(job),
		Pods:       len(in.Pods),
		Reason:     newCause(causes[0]),
		Also:       mapped(causes[1:], newCause),
		Totals:     totals(e.Totals()),
		Prospect:   newReason(e.Prospect()),
		Claims:     mapped(d.Claim, newClaim),
		Deletions:  mapped(d.Delete, newDeletion),
		Creations:  mapped(d.Create, newCreation),
		Status:     changes(&job.Status, d.Status),
		Finalizers: mapped(d.Strip, func(pod *corev1.Pod) string { return pod.Name }),
		Settled:    changes(stored, settled),
		Finished:   finished,
		Waits:      mapped(e.Waits(), newReason),
		Completed:  completed(job, d.Status, settled),
		Indexes:    mapped(slices.Collect(e.Indexes()), newIndex),
		Notes:      notes(in, m, e),
		indexed:    isIndexed(job),
		groups:     e.Groups(),
	}
	policy := job.Spec.PodFailurePolicy != nil
	for i := range r.Indexes {
		r.Indexes[i].policy = policy
	}
	if last := e.LastFailure(); last.Pod != "" {
		r.LastFailure = &failure{last.Pod, last.Fault, newRule(last.Match), policy}
	}
	if d.Requeue > 0 {
		at := now.Add(d.Requeue).UTC()
		r.RequeueSeconds, r.RequeueAt = d.Requeue.Seconds(), &at
	}
	return r
}

func isIndexed(job *batchv1.Job) bool {
	mode := job.Spec.CompletionMode
	return mode != nil && *mode == batchv1.IndexedCompletion
}

// mapped applies f to each element. It never returns nil.
func mapped[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i := range in {
		out[i] = f(in[i])
	}
	return out
}

func newReason(r why.Reason) reason {
	out := reason{Code: string(r.Code), Text: r.Text}
	if !r.Until.IsZero() {
		until := r.Until.UTC()
		out.Until = &until
	}
	return out
}

func newCause(c why.Cause) cause {
	return cause{newReason(c.Reason), c.Advice, append([]string{}, c.Pods...), c.Attention.String(), c.Attention}
}

func newClaim(c jobfate.Claim) claim {
	action := "free"
	switch c.Relation {
	case tracking.Adoptable:
		action = "adopt"
	case tracking.Releasable:
		action = "release"
	}
	return claim{Pod: c.Pod.Name, Action: action}
}

func newDeletion(d jobfate.Deletion) deletion {
	return deletion{Pod: d.Pod.Name, Cause: string(d.Cause), FinalizerFirst: d.StripFirst}
}

func newCreation(c jobfate.Creation) creation {
	pod := c.Pod()
	out := creation{NamePrefix: pod.GenerateName}
	if c.Index != tracking.NoIndex {
		out.Index = &c.Index
	}
	if _, ok := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		counts := keys.Keys{}.CountsOf(pod.Annotations)
		out.Failures, out.Ignored = &counts.Failures, &counts.Ignored
	}
	if c.Replaces != nil {
		out.Replaces = c.Replaces.Name
	}
	return out
}

func newIndex(r why.IndexReason) index {
	first, _ := r.Indexes.Min()
	last, _ := r.Indexes.Max()
	return index{First: first, Last: last, reason: newReason(r.Reason), Pod: r.Pod, Failures: r.Failures,
		failure: failure{FailedPod: r.FailedPod, Fault: r.Fault, Rule: newRule(r.Match)}, line: r.String()}
}

// newRule returns nil for a pod that matches none.
func newRule(m failurepolicy.Match) *rule {
	if !m.Matched() {
		return nil
	}
	return &rule{Position: m.Rule, Name: m.Name, Action: string(m.Action), Text: m.Explain()}
}

// read matches the fields that need no mention though the API lacks them: the
// names of rules are read, and what the template says decides nothing.
var read = regexp.MustCompile(`^spec\.(template\..*|podFailurePolicy\.rules\[\d+\]\.name)$`)

// notes returns what the decision tolerated, and what of the input it did not
// see.
func notes(in Objects, m *kubefile.Manifest, e why.Explanation) []Note {
	out := mapped(e.Notes(), func(n why.Reason) Note { return Note{string(n.Code), n.Text} })
	for _, field := range m.Unknown {
		if read.MatchString(field) {
			continue
		}
		out = append(out, Note{"UnknownField", field + " is not a field that this version knows; it was not looked at"})
	}
	return append(out, in.notes()...)
}
