package machine

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobfate/jobfate/internal/decide"
)

// Machine carries out what is decided for one Job. It is not safe for concurrent use.
type Machine struct {
	Memory
	Config decide.Config
	// Decide makes the decisions from nothing; nil is to make them of what has changed.
	Decide func(decide.Input, decide.Config) (*decide.Outcome, error)
	// Check is told of what the decisions are made, and of what they come to, if it is
	// set: for tests.
	Check func(decide.Input, decide.Config, *decide.Outcome, error)

	// cached is what the caches show of the pods. What is read live is for one sync.
	cached decide.Tally
	sync   *sync // nil when none is under way
	lastID uint64
	// What is left of the last sync when it is over: what it came to (nil before the
	// first), when it began, the last ID before it, and its requests that were not
	// answered in time.
	result *Result
	began  time.Time
	first  uint64
	late   []exchange
}

// Result is what a sync came to.
type Result struct {
	// Outcome is the decision as it was carried out; nil if none was made.
	Outcome *decide.Outcome
	// Requeue is when to look again; 0 is only when something changes.
	Requeue time.Duration
	// RetryAfter is how long the API server asks to wait before the next request.
	RetryAfter time.Duration
	// Err says why the sync did not do all that was due. Look again soon.
	Err error
	// Gone says that there is no Job of this UID any more.
	Gone bool
	// Ended says that a status was stored that ends the Job.
	Ended   bool
	Events  []decide.Event
	Metrics []decide.Metric
}

var errNoSync = errors.New("no sync has begun")

// Begin begins a sync. What is left of another one is abandoned. It fails for a view
// that cannot be understood.
func (m *Machine) Begin(v View) error {
	m.Abandon()
	if m.cached.Show(); !v.Fed {
		m.cached.List(v.Pods)
	}
	m.result, m.began, m.first = &Result{}, v.Now, m.lastID
	m.sync = &sync{Machine: m, view: v, tally: &m.cached}
	return m.sync.begin()
}

// Feed says which pod a cache shows under a name; nil is none. It takes effect with the
// next Begin.
func (m *Machine) Feed(name string, pod *corev1.Pod) { m.cached.Feed(name, pod) }

// Cached returns the pods that the next sync begins with, if it is not given others: for
// tests.
func (m *Machine) Cached() []*corev1.Pod {
	next := m.cached.Clone()
	next.Show()
	return next.Pods()
}

// Next returns the requests to send next, in any order or side by side; none when the
// sync is over. A request of before that was not answered may have been carried out.
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

// Answer takes the answer to a request: the object and the error of the client, as
// they are. It fails for a request that no answer is expected to; that does no harm.
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

// Result returns what the sync came to, or has come to so far.
func (m *Machine) Result() Result {
	if m.result == nil {
		return Result{Err: errNoSync}
	}
	return *m.result
}

// Clone returns a machine with the same memory, at rest.
func (m *Machine) Clone() *Machine {
	return &Machine{Memory: m.Memory.clone(), Config: m.Config, Decide: m.Decide, Check: m.Check, cached: m.cached.Clone(), lastID: m.lastID}
}

// Abandon ends a sync wherever it is. Its answers are absorbed. Requests that were
// handed out and have no answer may have been sent or not.
func (m *Machine) Abandon() {
	m.late = without(m.late, func(x exchange) bool { return x.ID <= m.first })
	s := m.sync
	if m.sync = nil; s == nil || s.ready {
		return // nothing was handed out
	}
	for i := range s.batch {
		x := &s.batch[i]
		if x.fate() == unknown {
			m.lose(x)
		} else {
			m.absorb(x)
		}
	}
}

// lose remembers that a request may have been carried out or not. A patch or deletion
// of a pod may be sent again.
func (m *Machine) lose(x *exchange) {
	switch x.Verb {
	case CreatePod:
		m.Lost = append(m.Lost, Lost{Name: x.Pod.Name})
	case PatchStatus:
		m.Sure, m.ReadFirst = false, true
	}
	if x.lost = true; !x.answered {
		m.late = append(m.late, *x)
	}
}

// absorb takes an answer that comes after its step. What the answer to a status write
// would have led to is lost.
func (m *Machine) absorb(x *exchange) {
	fate := x.fate()
	if x.job != m.Job || fate == unknown {
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
			m.delete([]Deleted{{x.UID, x.seen}})
		}
	case PatchPod:
		switch {
		case fate != done:
		case x.strips:
			m.strip([]Stripped{strippedBy(x)})
		default:
			m.adopted(x)
		}
	case PatchStatus:
		if object := x.meta(); fate == done && object != nil {
			m.Sure, m.Known = false, newest(m.Known, object.GetResourceVersion())
		}
	}
}

// found forgets one creation of which no answer was known.
func (m *Memory) found(name string) {
	for i, lost := range m.Lost {
		if lost.Name == name {
			m.Lost = append(m.Lost[:i:i], m.Lost[i+1:]...)
			return
		}
	}
}
