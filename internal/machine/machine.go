package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/internal/decide"
)

// Machine carries out the decisions for one Job. It is not safe for concurrent use.
type Machine struct {
	Memory
	Config decide.Config
	// Decide replaces the decisions, for tests; nil means the decisions of the tally,
	// whose cost depends on what has changed.
	Decide func(decide.Input, decide.Config) (*decide.Outcome, error)
	// Check is called with the input and the outcome of each decision, for tests; nil
	// for none.
	Check func(decide.Input, decide.Config, *decide.Outcome, error)

	// cached holds the pods of the caches. Pods that are read live serve one sync only.
	cached decide.Tally
	sync   *sync // nil if none is under way
	// orphans says that the Machine frees orphans. It has no other sync.
	orphans bool
	lastID  uint64
	// What remains of the last sync: its result (nil before the first), its time, the
	// last ID before it, and its requests without an answer.
	result *Result
	began  time.Time
	first  uint64
	late   []exchange
}

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
	if m.cached.Show(); !v.Fed {
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
func (m *Machine) Cached() []*corev1.Pod {
	next := m.cached.Clone()
	next.Show()
	return next.Pods()
}

// Next returns the requests to send next, in any order or concurrently; none when the sync
// is finished. Earlier requests without an answer count as lost: they may have been carried
// out.
func (m *Machine) Next() []Request {
	s := m.sync
	if s == nil {
		return nil
	}
	s.proceed()
	s.ready = false
	if len(s.batch) == 0 {
		m.sync = nil
		return nil
	}
	requests := make([]Request, len(s.batch))
	for i := range s.batch {
		requests[i] = s.batch[i].Request
	}
	return requests
}

// Answer takes the object and the error that the client returned for a request. It returns
// an error, and does nothing, if no answer to the request is expected.
func (m *Machine) Answer(id uint64, object runtime.Object, err error) error {
	if s := m.sync; s != nil && len(s.batch) > 0 {
		if at := id - s.batch[0].ID; at < uint64(len(s.batch)) && !s.batch[at].answered {
			x := &s.batch[at]
			x.answered, x.object, x.err = true, object, err
			return nil
		}
	}
	for i, x := range m.late {
		if x.ID == id {
			m.late = append(m.late[:i:i], m.late[i+1:]...)
			x.answered, x.object, x.err = true, object, err
			m.absorb(&x)
			return nil
		}
	}
	return fmt.Errorf("no answer is expected to request %d", id)
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
	return &Machine{Memory: m.Memory.clone(), Config: m.Config, Decide: m.Decide, Check: m.Check, cached: m.cached.Clone(), lastID: m.lastID}
}

// Abandon ends the sync at any step. Its answers are absorbed. Requests that Next returned
// and that have no answer count as lost: they may or may not have been sent.
func (m *Machine) Abandon() {
	m.late = without(m.late, func(x exchange) bool { return x.ID <= m.first })
	s := m.sync
	if m.sync = nil; s == nil || s.ready {
		return // Next has returned none of the requests
	}
	m.take(s.batch)
}

// take remembers the answers to a batch, and which of its requests may or may not have been
// carried out.
func (m *Machine) take(batch []exchange) {
	for i := range batch {
		if x := &batch[i]; x.fate() == unknown {
			m.lose(x)
		} else {
			m.absorb(x)
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
	if x.lost = true; !x.answered {
		m.late = append(m.late, *x)
	}
}

// absorb remembers the write that an answer shows. The answer may arrive after its step. The
// steps that would have followed a status write are then not made up for.
func (m *Machine) absorb(x *exchange) {
	fate := x.fate()
	if x.sender != m.Job || fate == unknown {
		return
	}
	switch x.Verb {
	case CreatePod:
		if x.lost {
			m.found(x.Pod.Name)
		}
		if object := x.meta(); fate == done && object != nil {
			m.create(object, m.began)
		}
	case DeletePod:
		if fate != refused {
			m.delete(x)
		}
	case PatchPod:
		switch {
		case fate != done:
		case x.strips:
			m.strip(x)
		default:
			m.adopted(x)
		}
	case PatchStatus:
		if object := x.meta(); fate == done && object != nil {
			m.Sure, m.Known = false, newest(m.Known, object.GetResourceVersion())
		}
	}
}

// found forgets a creation without an answer, once it is known whether it was carried out.
func (m *Memory) found(name string) {
	if i := slices.Index(m.Lost, name); i >= 0 {
		m.Lost = append(m.Lost[:i:i], m.Lost[i+1:]...)
	}
}
