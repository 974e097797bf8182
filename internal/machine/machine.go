package machine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/internal/decide"
)

// Machine carries out the decisions for one Job. It is not safe for concurrent use.
type Machine struct {
	Memory
	Config decide.Config
	// Decide replaces or checks the decisions of a tally, for tests; nil means
	// [decide.Tally.Decide].
	Decide func(*decide.Tally, decide.Input, *decide.Config) (*decide.Outcome, error)

	// cached holds the pods of the caches. Pods that are read live serve one sync only.
	cached decide.Tally
	sync   *sync // nil if none is under way
	// orphans says that the Machine frees orphans. It has no other sync.
	orphans bool
	lastID  uint64
	// What remains of the last sync: its result (nil before the first), its time, the last
	// ID before it, and its requests without an answer.
	result *Result
	began  time.Time
	first  uint64
	late   []*exchange
}

// View is what the caller's caches hold for a Job. The Machine does not change it.
type View struct {
	// Job is nil when the cache has no Job of that name.
	Job *batchv1.Job
	// Pods lists the pods that the Job controls and the pods of its namespace that have
	// no controller.
	Pods []*corev1.Pod
	// Fed says that the pods are those of the last list, with the changes passed to
	// Feed since. Pods is ignored then.
	Fed bool
	// Now is the one reading of the clock.
	Now time.Time
	// JobsVersion and PodsVersion are the resource versions up to which the caches were
	// complete before Job and Pods were read from them. Without them every sync reads
	// live.
	JobsVersion, PodsVersion string
	// Barrier is the version of a consistent read of pods that the process requested
	// after it acquired its lease.
	Barrier string
	// StatusVersion is the version of the object that holds the status, if that is not
	// the Job.
	StatusVersion string
}

// version returns the version of the object that holds the status.
func (v *View) version() string { return cmp.Or(v.StatusVersion, v.Job.ResourceVersion) }

// Result is the result of a sync.
type Result struct {
	// Outcome is the decision as it was carried out; nil if none was made.
	Outcome *decide.Outcome
	// Requeue is the longest time until the next sync; 0 when no sync is needed until
	// something changes.
	Requeue time.Duration
	// RetryAfter is how long the API server asks to wait before the next request.
	RetryAfter time.Duration
	// Err says why the sync did not do everything that was due. Retry soon.
	Err error
	// Gone says that no Job with this UID exists any more.
	Gone bool
	// Ended says that the sync stored a status with a terminal condition.
	Ended   bool
	Events  []decide.Event
	Metrics []decide.Metric
}

var errNoSync = errors.New("no sync has begun")

// Begin begins a sync with the given configuration, and abandons an earlier one that is not
// finished. It returns an error for an invalid view.
func (m *Machine) Begin(v View, config *decide.Config) error {
	if m.orphans {
		return errOrphans
	}
	m.Abandon()
	if !v.Fed {
		m.cached.List(v.Pods)
	}
	m.result, m.began, m.first = &Result{}, v.Now, m.lastID
	m.sync = &sync{Machine: m, config: config, step: readJob, view: v, tally: &m.cached}
	return m.sync.begin()
}

// Feed passes the pod that the cache holds under a name; nil if it holds none. It takes
// effect with the next Begin.
func (m *Machine) Feed(name string, pod *corev1.Pod) { m.cached.Feed(name, pod) }

// Cached returns the pods that the next sync starts from if its View is Fed, for tests.
func (m *Machine) Cached() []*corev1.Pod { return m.cached.Pods() }

// Next returns the requests to send next, in any order or concurrently; none when the sync
// is finished. Earlier requests without an answer count as lost: they may have been carried
// out.
func (m *Machine) Next() (requests []Request) {
	s := m.sync
	if s == nil {
		return nil
	}
	s.proceed()
	if s.ready = false; len(s.batch) == 0 {
		m.sync = nil
	}
	for _, x := range s.batch {
		requests = append(requests, x.Request)
	}
	return requests
}

// Answer takes the object and the error that the client returned for a request. It returns
// an error, and does nothing, if no answer to the request is expected.
func (m *Machine) Answer(id uint64, object runtime.Object, err error) error {
	if s := m.sync; s != nil && len(s.batch) > 0 {
		if at := id - s.batch[0].ID; at < uint64(len(s.batch)) && !s.batch[at].answered() {
			s.batch[at].object, s.batch[at].err = object, err
			return nil
		}
	}
	i := slices.IndexFunc(m.late, func(x *exchange) bool { return x.ID == id })
	if i < 0 {
		return fmt.Errorf("no answer is expected to request %d", id)
	}
	x := m.late[i]
	m.late = slices.Delete(m.late, i, i+1)
	x.object, x.err = object, err
	m.absorb(x, true)
	return nil
}

// Result returns the result of the sync, or its state so far.
func (m *Machine) Result() Result {
	if m.result == nil {
		return Result{Err: errNoSync}
	}
	return *m.result
}

// Clone returns a machine with the same memory and without a sync.
func (m *Machine) Clone() *Machine {
	return &Machine{Memory: m.Memory.clone(), Config: m.Config, Decide: m.Decide, cached: m.cached.Clone(),
		lastID: m.lastID}
}

// Abandon ends the sync at any step. Its answers are absorbed. Requests that Next returned
// and that have no answer count as lost: they may or may not have been sent.
func (m *Machine) Abandon() {
	m.late = slices.DeleteFunc(m.late, func(x *exchange) bool { return x.ID <= m.first })
	if s := m.sync; s != nil && !s.ready { // otherwise Next has returned none of the requests
		m.take(s.batch)
	}
	m.sync = nil
}

// take remembers the answers to a batch, and which of its requests may or may not have been
// carried out.
func (m *Machine) take(batch []*exchange) {
	for _, x := range batch {
		if x.fate() == unknown {
			m.lose(x)
		} else {
			m.absorb(x, false)
		}
	}
}

// lose remembers that a request may or may not have been carried out. For a patch or a
// deletion of a pod that is not necessary, because it can be sent again.
func (m *Machine) lose(x *exchange) {
	switch x.Verb {
	case CreatePod:
		m.Lost = append(m.Lost, x.Pod.Name)
	case PatchStatus:
		m.Sure, m.ReadFirst = false, true
	}
	if !x.answered() {
		m.late = append(m.late, x)
	}
}

// absorb remembers the write that an answer shows. A late answer is to a request that was
// lost. The steps that would have followed a status write are then not made up for.
func (m *Machine) absorb(x *exchange, late bool) {
	fate := x.fate()
	if m.Job == "" || x.sender != m.Job || fate == unknown {
		return
	}
	switch {
	case x.Verb == CreatePod && late:
		m.found(x.Pod.Name)
	case x.Verb == DeletePod && fate != refused:
		m.delete(x)
	}
	if fate != done || x.Verb == DeletePod {
		return
	}
	switch object := x.meta(); {
	case x.Verb == PatchPod && !x.adopts:
		m.strip(x)
	case object == nil:
	case x.Verb == CreatePod:
		m.create(object, m.began)
	case x.Verb == PatchPod:
		m.PodsFloor = newest(m.PodsFloor, object.GetResourceVersion()) // an older view shows the pod without its owner
	case x.Verb == PatchStatus:
		m.Sure, m.Known = false, newest(m.Known, object.GetResourceVersion())
	}
}
