package jobfate

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobfate/jobfate/internal/decide"
	"github.com/jobfate/jobfate/internal/machine"
)

// Machine carries out what is decided for one Job, without doing I/O: it names the
// requests to send and takes their answers. It remembers what the caches do not show
// yet, so there is one Machine for each Job, kept from sync to sync.
//
//	err := m.Begin(jobfate.View{Job: job, Pods: pods, Now: now, …})
//	result := m.Run(send)
//
// The caller owes the truth, and nothing else: an answer is what the API server said, a
// read is live, and a View is what caches held. The requests of a batch may be sent
// side by side, and answered in any order. A sync may be given up at any request.
//
// A Machine is not safe for concurrent use, and must not be copied.
type Machine struct {
	core    machine.Machine
	own     *decide.Config   // without the options of the sync that has begun
	orphans *machine.Orphans // of one that OrphansIn has made
}

// dialogue is what asks, and is answered.
type dialogue interface {
	Next() []machine.Request
	Answer(id uint64, object runtime.Object, err error) error
	Result() machine.Result
}

func (m *Machine) dialogue() dialogue {
	if m.orphans != nil {
		return m.orphans
	}
	return &m.core
}

// NewMachine returns a Machine that remembers nothing.
func NewMachine(opts ...Option) *Machine {
	return &Machine{core: machine.Machine{Config: configure(opts)}}
}

// View is what a caller's caches show of a Job. The Machine changes nothing in it. It
// keeps the pods, which must not change either; a pod that is the same object as before
// is not read again.
type View struct {
	// Job is nil when the cache shows none.
	Job *batchv1.Job
	// Pods are the pods that the Job controls and the pods of its namespace that have
	// no controller, in any order. Others are ignored.
	Pods []*corev1.Pod
	// Fed says that the pods are those that were fed, on top of the last list; Pods
	// means nothing then. See [Machine.Feed].
	Fed bool
	// Now is the one reading of the clock.
	Now time.Time
	// JobsVersion and PodsVersion are the resource versions up to which the caches of
	// Jobs and pods are complete, read before Job and Pods: with client-go,
	// LastStoreSyncResourceVersion of the informer's store. Without them every sync
	// reads the Job and its pods live.
	JobsVersion, PodsVersion string
	// Barrier is the resource version of a consistent list of pods (limit 1 is enough)
	// that the process asked for after it had its lease. As long as the caches are
	// older, the Machine reads live. Without one, its first sync reads live.
	Barrier string
	// StatusVersion is the resource version of the object that holds the status, if
	// that is not the Job.
	StatusVersion string
}

// Verb says what a Request asks for.
type Verb uint8

// The verbs. Reads must be live: they must not come from a cache.
const (
	GetJob      = Verb(machine.GetJob)
	ListPods    = Verb(machine.ListPods) // all pods of the namespace
	GetPod      = Verb(machine.GetPod)
	CreatePod   = Verb(machine.CreatePod)
	PatchPod    = Verb(machine.PatchPod)
	DeletePod   = Verb(machine.DeletePod)
	PatchStatus = Verb(machine.PatchStatus)
)

// String names the verb.
func (v Verb) String() string { return machine.Verb(v).String() }

// Request is a request to the API server, with everything that the call needs. It
// belongs to the caller.
type Request struct {
	// ID tells the requests of a Machine apart.
	ID        uint64
	Verb      Verb
	Namespace string
	// Name is that of the Job or the pod; empty for ListPods and CreatePod.
	Name string
	// UID is that of the Job or the pod, as far as it is known.
	UID types.UID
	// Pod is the pod to create.
	Pod *corev1.Pod
	// Patch is a strategic merge patch of a pod, or a JSON merge patch of the
	// status of a Job.
	Patch []byte
	// Options are those of DeletePod. They name the UID.
	Options metav1.DeleteOptions
	// Status is what Patch puts into the status, for a caller that stores it elsewhere.
	Status *batchv1.JobStatus
}

// Result is what a sync came to. It belongs to the caller.
type Result struct {
	// Decision is what was decided, as it was carried out. It is zero if the sync ended
	// before a decision was made. Package explain reads it together with what the
	// Machine knows of the pods, so explain it before the next Begin.
	Decision Decision
	// Requeue says to look again no later than this; 0 when only a change to the Job
	// or its pods is worth a look.
	Requeue time.Duration
	// Err says why the sync did not do all that was due. It is worth another try soon,
	// unless it is an [InputError] or [ErrNotManaged].
	Err error
	// RetryAfter is how long the API server asks to wait before that.
	RetryAfter time.Duration
	// Gone says that there is no Job of this UID any more.
	Gone bool
	// Ended says that a status was stored that ends the Job.
	Ended bool
	// Events are what to tell the user, Metrics the counters to add to.
	Events  []Event
	Metrics []Metric
}

// Feed says which pod the cache shows under a name; nil is none. It spares the list: a
// sync that begins with a View that is Fed costs what has changed. It takes effect with
// the next Begin, a later list replaces what was fed, and to feed a pod twice does no
// harm.
//
// Let event handlers queue the names of pods, and feed what the cache shows of them
// just before Begin: never the object of an event, which may be older. PodsVersion must
// then be a version up to which every change of a pod has been fed. Where that is not
// known, as while a watch is being established, begin with a list.
func (m *Machine) Feed(name string, pod *corev1.Pod) { m.core.Feed(name, pod) }

// Begin begins a sync; an earlier one that is not over is given up. Options hold for this
// sync, beside those of the Machine: names of rules may stand in the Job. It fails for a view
// that cannot be understood, with an [InputError], and for a Job that another
// controller manages, with [ErrNotManaged]. If the Job has to be read live first,
// Result says so instead.
func (m *Machine) Begin(v View, opts ...Option) error {
	if m.orphans != nil {
		return errOrphans
	}
	if m.own != nil {
		m.core.Config = *m.own
	}
	m.own = nil
	if len(opts) > 0 {
		own := m.core.Config
		m.own = &own
		apply(opts, &m.core.Config)
	}
	return publicError(m.core.Begin(machine.View(v)))
}

// Next returns the requests to send next; none when the sync is over. It may be called
// when answers are missing: those requests may then have been carried out or not, and
// the Machine finds that out before it relies on it.
func (m *Machine) Next() []Request { return convert(m.dialogue().Next(), newRequest) }

func newRequest(r machine.Request) Request {
	return Request{ID: r.ID, Verb: Verb(r.Verb), Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		Pod: r.Pod, Patch: r.Patch, Options: r.Options, Status: r.Status}
}

// Answer takes what the client returned for a request: the object, which is not kept,
// and the error, as they are. An answer that comes too late is taken if it still says
// something. A second or an unknown one is an error, and does no harm.
func (m *Machine) Answer(r Request, object runtime.Object, err error) error {
	return m.dialogue().Answer(r.ID, object, err)
}

// Run sends all that is asked for, one request after another, answers it, and returns the
// result. To send the requests of a batch side by side, or to stop between two, call Next
// and Answer as Run does.
func (m *Machine) Run(send func(Request) (runtime.Object, error)) Result {
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			object, err := send(r)
			_ = m.Answer(r, object, err) // it has just been asked for
		}
	}
	return m.Result()
}

// Result returns what the sync came to, or has come to so far.
func (m *Machine) Result() Result {
	r := m.dialogue().Result()
	result := Result{Requeue: r.Requeue, Err: publicError(r.Err), RetryAfter: r.RetryAfter, Gone: r.Gone, Ended: r.Ended,
		Events: convert(r.Events, newEvent), Metrics: convert(r.Metrics, newMetric)}
	if r.Outcome != nil {
		result.Decision = newDecision(r.Outcome)
	}
	return result
}

// Idle reports whether nothing is pending, so that the Machine may be dropped.
func (m *Machine) Idle() bool { return m.core.Idle() }

// String says what is pending.
func (m *Machine) String() string { return m.core.Memory.String() }

// Core returns the inside of the Machine, for the test kit.
func (m *Machine) Core() *machine.Machine { return &m.core }
