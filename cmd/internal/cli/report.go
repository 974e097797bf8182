package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/cmd/diagnose"
	"github.com/jobfate/jobfate/cmd/internal/kubefile"
	"github.com/jobfate/jobfate/decide"
	why "github.com/jobfate/jobfate/explain"
	"github.com/jobfate/jobfate/failurepolicy"
	"github.com/jobfate/jobfate/jobstatus"
	"github.com/jobfate/jobfate/tracking"
)

// report is the output of explain. Its JSON is the output of -o json: fields may be added,
// but none is removed or changes its meaning. A list is never null. A field that may be
// absent says so.
type report struct {
	Job jobRef `json:"job"`
	// Now is the time of the decision.
	Now time.Time `json:"now"`
	// Created, Started and Ended are when the Job was created, has started, and has ended; absent if that is
	// not known.
	Created *time.Time `json:"created,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Succeeded counts the pods that have succeeded, by the status of the Job. Completions is how
	// many it needs; absent if the success of any pod is enough.
	Succeeded   int32  `json:"succeeded"`
	Completions *int32 `json:"completions,omitempty"`
	Parallelism int32  `json:"parallelism"`
	// ManagedBy is the controller that manages the Job; absent if it is the Job
	// controller.
	ManagedBy string `json:"managedBy,omitempty"`
	// Pods is the number of pods in the input, including those of other owners.
	Pods int `json:"pods"`
	// Reason is the first cause of the state of the Job: why there is no pod, or no
	// further pod. Also are the other causes, in the order of their rank.
	Reason cause   `json:"reason"`
	Also   []cause `json:"also"`
	// Totals counts the indexes, or the pods, by state.
	Totals totals `json:"totals"`
	// Prospect says whether the Job can still succeed, and what it needs for that. Until
	// is the deadline of the Job.
	Prospect reason `json:"prospect"`

	// The fields from Claims to Finished are the next steps of the controller, in this
	// order.
	Claims    []claim    `json:"claims"`
	Deletions []deletion `json:"deletions"`
	Creations []creation `json:"creations"`
	// Status is the change of the status before finalizers are removed.
	Status []change `json:"status"`
	// Finalizers lists the names of the pods whose tracking finalizer is removed.
	Finalizers []string `json:"finalizers"`
	// Settled is the change of the status after these finalizers were removed.
	Settled []change `json:"settled"`
	// Finished says that the Job has ended, or has ended after that.
	Finished bool `json:"finished"`

	// Waits lists what the Job waits for after these steps.
	Waits []reason `json:"waits"`
	// RequeueSeconds is the time until the next sync if nothing changes, and RequeueAt
	// the time of that sync; absent if only a change requires a sync.
	RequeueSeconds float64    `json:"requeueSeconds,omitempty"`
	RequeueAt      *time.Time `json:"requeueAt,omitempty"`

	// Completed lists the completed indexes after these steps, and Indexes the states of the
	// others, in order. Both are empty for a Job that is not Indexed.
	Completed string  `json:"completed"`
	Indexes   []index `json:"indexes"`
	// LastFailure is the failure of the pod that failed last; absent if no failed pod is
	// known.
	LastFailure *failure `json:"lastFailure,omitempty"`
	// FailedPods groups the failed pods by how they failed.
	FailedPods failedPods `json:"failedPods"`
	// Proposals says what would have helped against these failures.
	Proposals diagnose.Proposals `json:"proposals"`
	// Log is the end of the log of the container that Reason names; absent unless it was asked for.
	Log *Log `json:"log,omitempty"`
	// Events lists the last events of the Job, of its owners, and of the pods that Reason and Also name.
	Events []event `json:"events"`
	// Notes lists what is unexpected in the input.
	Notes []Note `json:"notes"`
	// Unreadable says which parts of the input cannot be read; absent in a list, and if there
	// are none. The decision may be wrong without them.
	Unreadable []string `json:"unreadable,omitempty"`

	indexed bool
	groups  []why.IndexReason
	own     int // the number of its pods
	failed  string
	advise  bool // print the proposals
}

type jobRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID is absent if the Job has none yet.
	UID string `json:"uid,omitempty"`
}

func refOf(job *batchv1.Job) jobRef { return jobRef{job.Namespace, job.Name, string(job.UID)} }

// reason is a code for programs and a text for people.
type reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
	// Until is when the state changes by time alone; absent if another event must happen.
	Until *time.Time `json:"until,omitempty"`
}

// cause is a reason with advice.
type cause struct {
	reason
	// Advice is absent if there is nothing to do.
	Advice string `json:"advice,omitempty"`
	// Pods lists the names of the pods affected.
	Pods []string `json:"pods"`
	// Pod is the one of Pods that the text describes, and Container its container; absent if there is none.
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Attention is None, Wait, Held, Lost or Stuck.
	Attention string `json:"attention"`
	// Evidence names the objects and events that show the cause; empty if the Job itself does.
	Evidence []string `json:"evidence"`

	attention diagnose.Attention
	names     []string // see diagnose.Cause
}

// totals counts the indexes of an Indexed Job, or pods.
type totals struct {
	Done        int `json:"done"`
	Running     int `json:"running"`
	Starting    int `json:"starting"`
	Waiting     int `json:"waiting"`
	Stuck       int `json:"stuck"`
	Terminating int `json:"terminating"`
	BackingOff  int `json:"backingOff"`
	Pending     int `json:"pending"`
	Failed      int `json:"failed"`
	Stopped     int `json:"stopped"`
}

// claim is a pod to adopt, to release or to free, that is, to remove the finalizer of.
type claim struct {
	Pod string `json:"pod"`
	// Action is adopt, release or free.
	Action string `json:"action"`
}

type deletion struct {
	Pod   string `json:"pod"`
	Cause string `json:"cause"`
	// FinalizerFirst says that the finalizer is removed before the pod is deleted, so
	// that the pod does not count.
	FinalizerFirst bool `json:"finalizerFirst"`
}

type creation struct {
	// NamePrefix is the prefix of the name of the pod.
	NamePrefix string `json:"namePrefix"`
	// Index is absent unless the Job is Indexed.
	Index *int32 `json:"index,omitempty"`
	// Failures and Ignored are the failure counts of the index in the annotations of the
	// pod; absent without a backoff limit per index.
	Failures *int32 `json:"failures,omitempty"`
	Ignored  *int32 `json:"ignored,omitempty"`
	// Replaces is the failed pod from which the counts come.
	Replaces string `json:"replaces,omitempty"`
}

// change is a changed field of the status. Old and new are its values: a number, a text, a
// list of UIDs, a condition, or null if the field is unset.
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

// index is the state of the indexes from First to Last.
type index struct {
	First int32 `json:"first"`
	Last  int32 `json:"last"`
	reason
	// Pod is the last known pod; absent if there is none.
	Pod      string `json:"pod,omitempty"`
	Failures int32  `json:"failures"`
	failure
	// FailedPods groups the failed pods; absent if there are not several.
	FailedPods []failedGroup `json:"failedPods,omitempty"`

	line, failed string
}

// failure is how a pod failed; its fields are absent if no failed pod is known.
type failure struct {
	// FailedPod is the pod that failed last, and Fault says how.
	FailedPod string `json:"failedPod,omitempty"`
	Fault     string `json:"fault,omitempty"`
	// Rule is the rule of the pod failure policy that the pod matches; absent if it
	// matches none.
	Rule *rule `json:"rule,omitempty"`

	policy bool // the Job has a pod failure policy
}

type rule struct {
	Position int    `json:"position"`
	Name     string `json:"name,omitempty"`
	Action   string `json:"action"`
	Text     string `json:"text"`
}

// event is an event in the life of the Job. Count is how often it happened, and Pods at how many objects.
type event struct {
	At      *time.Time `json:"at,omitempty"`
	Object  string     `json:"object"`
	Warning bool       `json:"warning"`
	Reason  string     `json:"reason"`
	Message string     `json:"message"`
	Count   int        `json:"count"`
	Pods    int        `json:"pods"`
}

// Note is a code for programs and a text for people.
type Note struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// NewNote returns a note. Its text may come from the network: bytes that are not UTF-8 are
// replaced.
func NewNote(code, format string, args ...any) Note {
	return Note{code, utf8Only(fmt.Sprintf(format, args...))}
}

// newReport reports a decision on the input. The causes are in the order of their
// rank.
func newReport(in Objects, m *kubefile.Manifest, now time.Time, d decide.Decision, e diagnose.Diagnosis,
	causes []diagnose.Cause) *report {
	job := m.Job
	// after the finalizers were removed
	settled := d.Settle(mapped(d.Strip, func(pod *corev1.Pod) types.UID { return pod.UID })...)
	stored := cmp.Or(d.Status, &job.Status)
	final := &batchv1.Job{Spec: job.Spec, Status: *cmp.Or(settled.Status, stored)}
	policy := job.Spec.PodFailurePolicy != nil
	r := &report{
		Job:         refOf(job),
		Now:         now.UTC(),
		Created:     known(job.CreationTimestamp.Time),
		Started:     known(cmp.Or(job.Status.StartTime, &metav1.Time{}).Time),
		Ended:       known(cmp.Or(jobstatus.Finished(job), &batchv1.JobCondition{}).LastTransitionTime.Time),
		Succeeded:   job.Status.Succeeded,
		Completions: job.Spec.Completions,
		Parallelism: *cmp.Or(job.Spec.Parallelism, new(int32(1))),
		Events:      mapped(e.Timeline(mostEvents), newEvent),
		ManagedBy:   managerOf(job),
		Pods:        len(in.Pods),
		Reason:      newCause(causes[0]),
		Also:        mapped(causes[1:], newCause),
		Totals:      totals(e.Totals()),
		Prospect:    newReason(e.Prospect()),
		Claims:      mapped(d.Claim, newClaim),
		Deletions:   mapped(d.Delete, newDeletion),
		Creations:   mapped(d.Create, newCreation),
		Status:      changes(&job.Status, d.Status),
		Finalizers:  mapped(d.Strip, func(pod *corev1.Pod) string { return pod.Name }),
		Settled:     changes(stored, settled.Status),
		Finished:    settled.Finished || jobstatus.Finished(job) != nil,
		Waits:       mapped(e.Waits(), newReason),
		Completed:   jobstatus.Indexes(final).Completed.String(),
		Indexes:     mapped(slices.Collect(e.Indexes()), func(r why.IndexReason) index { return newIndex(r, policy) }),
		Notes:       notes(in, m, e),
		indexed:     jobstatus.IsIndexed(&job.Spec),
		groups:      e.Groups(),
		own:         len(in.Pods),
	}
	r.addFailures(e)
	if f := d.Facts(); f != nil {
		r.own -= len(f.Others())
	}
	if r.own > 0 { // those of others are evidence
		r.Notes = slices.DeleteFunc(r.Notes, func(n Note) bool { return n.Code == string(why.NoteForeignPods) })
	}
	if last := newFailure(e.LastFailure(), policy); last.FailedPod != "" {
		r.LastFailure = &last
	}
	if d.Requeue > 0 {
		at := now.Add(d.Requeue).UTC()
		r.RequeueSeconds, r.RequeueAt = d.Requeue.Seconds(), &at
	}
	return r
}

// known returns a time in UTC; nil if it is zero.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// mostEvents is the number of events in a report.
const mostEvents = 8

func newEvent(m diagnose.Moment) event {
	return event{known(m.At), utf8Only(m.Object), m.Warning, m.Reason, utf8Only(m.Message), m.Count, m.Pods}
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
	return reason{Code: string(r.Code), Text: r.Text, Until: known(r.Until)}
}

func newCause(c diagnose.Cause) cause {
	return cause{newReason(c.Reason), c.Advice, append([]string{}, c.Pods...), c.Pod, c.Container, c.Attention.String(),
		append([]string{}, c.Evidence...), c.Attention, c.Names}
}

func newClaim(c decide.Claim) claim { return claim{c.Pod.Name, c.Action} }

func newDeletion(d decide.Deletion) deletion {
	return deletion{d.Pod.Name, string(d.Cause), d.StripFirst}
}

func newCreation(c decide.Creation) creation {
	pod := c.Pod()
	out := creation{NamePrefix: pod.GenerateName}
	if c.Index != tracking.NoIndex {
		out.Index = &c.Index
	}
	if _, ok := pod.Annotations[batchv1.JobIndexFailureCountAnnotation]; ok {
		out.Failures, out.Ignored = &c.Failures, &c.Ignored
	}
	if c.Replaces != nil {
		out.Replaces = c.Replaces.Name
	}
	return out
}

func newIndex(r why.IndexReason, policy bool) index {
	first, _ := r.Indexes.Min()
	last, _ := r.Indexes.Max()
	return index{First: first, Last: last, reason: newReason(r.Reason), Pod: r.Pod, Failures: r.Failures,
		failure: newFailure(r.LastFailure, policy), line: r.String()}
}

func newFailure(f why.Failure, policy bool) failure {
	return failure{FailedPod: f.Pod, Fault: f.Fault, Rule: newRule(f.Match), policy: policy}
}

// newRule returns nil if the pod matches no rule.
func newRule(m failurepolicy.Match) *rule {
	if !m.Matched() {
		return nil
	}
	return &rule{Position: m.Rule, Name: m.Name, Action: string(m.Action), Text: m.Explain()}
}

// expected matches fields that need no note although the API lacks them: the names of
// rules, which are read, and fields of the template, which do not influence decisions.
var expected = regexp.MustCompile(`^spec\.(template\..*|podFailurePolicy\.rules\[\d+\]\.name)$`)

// notes returns what the decision tolerated, and which parts of the input it ignored.
func notes(in Objects, m *kubefile.Manifest, e diagnose.Diagnosis) []Note {
	out := mapped(e.Notes(), func(n why.Reason) Note { return Note{string(n.Code), n.Text} })
	for _, field := range m.Unknown {
		if expected.MatchString(field) {
			continue
		}
		out = append(out, Note{"UnknownField", field + " is unknown to this version of jobfate and was ignored"})
	}
	return append(out, in.AllNotes()...)
}
