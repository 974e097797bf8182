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

	"github.com/jobfate/jobfate/decide"
	"github.com/jobfate/jobfate/internal/memory"
)

// Machine carries out the decisions for one Job. It remembers writes that the caches do not show yet,
// so keep one Machine for each Job, from sync to sync. The zero Machine remembers nothing and has no
// options. Without [decide.ManagedBy] a Machine acts as the built-in controller, on Jobs that name no
// controller: use that where the built-in one is off, for objects of your own kind, or in tests. A
// Machine is not safe for concurrent use, and must not be copied.
type Machine struct {
	// Names returns the name of a new pod, which begins with the prefix; that leaves room for five more
	// characters. After a creation without an answer the Machine then reads the pod by its name. If Names
	// is nil, the API server generates the names, and the Machine lists the pods after such a creation.
	Names func(prefix string) string
	// Decider makes the decisions on the pods that the Machine keeps; the snapshot has none. It is for tests, which
	// plant a bug or watch decisions. Nil stands for [decide.Pods.Decide].
	Decider func(pods *decide.Pods, s decide.Snapshot, o decide.Option) (decide.Decision, error)

	memory  memory.Memory
	options decide.Option
	// cached holds the pods of the caches. Pods that are read live serve one sync only.
	cached decide.Pods
	sync   *sync // nil if none is under way
	// orphans says that the Machine frees orphans. It has no other sync.
	orphans bool
	synced  bool   // a sync has begun
	lastID  uint32 // of its requests
	result  Result // of the last sync
}

// New returns a Machine that remembers nothing.
func New(opts ...decide.Option) *Machine {
	if len(opts) == 0 {
		return &Machine{}
	}
	return &Machine{options: decide.Options(opts...)}
}

// View is what the caller's caches hold for a Job. The Machine does not change it. The Machine
// keeps the Job and the pods, so the caller must not change them either. Objects that were in the
// last View are not evaluated again.
type View struct {
	// Job is nil when the cache has no Job of that name. If JobsVersion is set, Job must have a
	// resource version, or StatusVersion must be set: the Machine waits until it shows the last
	// status write.
	Job *batchv1.Job
	// Pods lists the pods that the Job controls and the pods of its namespace without a
	// controller, in any order. Others are ignored.
	Pods []*corev1.Pod
	// Fed says that the pods are those of the last list, with the changes passed to
	// [Machine.Feed] since. Pods is ignored then.
	Fed bool
	// Now is the one reading of the clock. A zero Now is an error.
	Now time.Time
	// JobsVersion and PodsVersion are the resource versions up to which the caches of
	// Jobs and pods are complete, read before Job and Pods: with client-go,
	// LastStoreSyncResourceVersion of the informer's store. Without them every sync
	// reads the Job and its pods live.
	JobsVersion, PodsVersion string
	// Barrier is the resource version of a consistent list of pods (without a version in the options, limit 1 is
	// enough) that this process requested after it acquired its lease; pass it to all Machines. Every write of
	// an earlier process is older. While the caches are older than the Barrier, the Machine reads live. Without
	// one, the first sync of each Machine does. A status of another process that counts other pods also makes
	// the Machine read live, until its caches are as new.
	Barrier string
	// StatusVersion is the resource version of the object that holds the status, if
	// that is not the Job.
	StatusVersion string
}

// version returns the version of the object that holds the status.
func (v *View) version() string { return cmp.Or(v.StatusVersion, v.Job.ResourceVersion) }

// Result is the result of a sync. The caller owns it.
type Result struct {
	// Decision is the decision as it was carried out. It is zero if the sync ended
	// before a decision was made. Package explain also reads the pods that the Machine
	// keeps, so explain the decision before the next Begin.
	Decision decide.Decision
	// Requeue is the longest time until the next sync; 0 when no sync is needed until
	// the Job or its pods change.
	Requeue time.Duration
	// Err says why the sync did not do everything that was due. Retry soon, unless Err
	// is a [decide.InputError] or [decide.ErrNotManaged].
	Err error
	// RetryAfter is the least time to wait before that retry, as the API server asked.
	RetryAfter time.Duration
	// Gone says that no Job with this UID exists any more.
	Gone bool
	// Ended says that the sync stored a status with a terminal condition.
	Ended bool
	// Events lists the events to send, Metrics the counter increments to record. The events
	// are those of the Decision whose status was stored, and SuccessfulCreate, FailedCreate,
	// SuccessfulDelete and FailedDelete for single pods, in the order in which they happened.
	Events  []decide.Event
	Metrics []decide.Metric
}

var errNoSync = errors.New("no sync has begun")

// Feed passes the pod that the cache holds under a name; nil if it holds none. With Feed
// a sync needs no list of all pods: if its View is Fed, its cost depends on the number of
// changed pods only. Feed takes effect with the next Begin. A later list replaces what
// was fed. Feeding a pod twice does no harm.
//
// Queue the name of a changed pod for each Job that controls it or, while it has no controller,
// selects it, before or after the change: package route returns these Jobs for each of the two states.
// Before Begin, read PodsVersion, and then feed the objects that the cache holds under these names
// until none is left, never the object of an event, which may be older. Every change up to
// PodsVersion must have been fed. So queue the names while the store changes, in the store of a
// Reflector of client-go: an informer calls its handlers after the version of its store has changed.
// If no such version is known, for example while a watch is being established, begin with a list.
func (m *Machine) Feed(name string, pod *corev1.Pod) { m.cached.Feed(name, pod) }

// Begin begins a sync. It abandons an earlier sync that is not finished. The options
// apply to this sync, in addition to those of the Machine, for example names of rules
// that the caller reads from the Job. Begin returns a [decide.InputError] for an invalid view,
// and [decide.ErrNotManaged] for a Job that another controller manages. If the Job must be read
// live first, these errors are in the Result instead.
func (m *Machine) Begin(v View, opts ...decide.Option) error {
	if m.orphans {
		return errOrphans
	}
	m.Abandon()
	options := m.options
	if len(opts) > 0 {
		options = decide.Options(append([]decide.Option{options}, opts...)...)
	}
	if !v.Fed {
		m.cached.Replace(v.Pods)
	}
	m.result, m.synced = Result{}, true
	m.sync = &sync{Machine: m, Memory: &m.memory, options: options, step: readJob, view: v, pods: &m.cached}
	return m.sync.begin()
}

// Next returns the requests to send next; none when the sync is finished. You may call it while
// answers are missing. The Machine then treats them like requests whose answer was lost, and reads
// live before it depends on their effect.
func (m *Machine) Next() (requests []Request) {
	s := m.sync
	if s == nil {
		return nil
	}
	s.proceed()
	requests = slices.Grow(requests, len(s.batch))
	for _, x := range s.batch {
		requests = append(requests, x.Request)
	}
	s.ready = false
	if len(requests) == 0 {
		m.sync = nil
	}
	return requests
}

// Answer takes the object and the error that the client returned for a request. Pass both
// unchanged, and do not change the object or decode another answer into it: the Machine reads it in
// Next, and decides on the Job and the pods that were read. An answer to a request that Next has not
// just returned, or a second answer, is an error and does no harm.
func (m *Machine) Answer(r Request, object runtime.Object, err error) error {
	if s := m.sync; s != nil && len(s.batch) > 0 {
		if at := r.ID - s.batch[0].ID; at < uint64(len(s.batch)) && !s.batch[at].answered() {
			if err != nil && isNil(err) {
				err = fmt.Errorf("the client returned a nil %T as an error", err)
			}
			s.batch[at].object, s.batch[at].err = object, err
			return nil
		}
	}
	return fmt.Errorf("no answer is expected to request %d", r.ID)
}

// Run sends all requests of the sync, one after another, passes each answer to Answer, and
// returns the result. To send the requests of a batch concurrently, or to stop between
// two, call Next and Answer as Run does.
func (m *Machine) Run(send func(Request) (runtime.Object, error)) Result {
	for batch := m.Next(); len(batch) > 0; batch = m.Next() {
		for _, r := range batch {
			object, err := send(r)
			_ = m.Answer(r, object, err) // r is known: Next has just returned it
		}
	}
	return m.Result()
}

// Abandon ends the sync at any step, as Begin does. Requests that Next returned and that have
// no answer may or may not have been carried out.
func (m *Machine) Abandon() {
	if s := m.sync; s != nil && !s.ready { // otherwise Next has returned none of the requests
		s.take(s.batch)
	}
	m.sync = nil
}

// Result returns the result of the sync, or its state so far.
func (m *Machine) Result() Result {
	if !m.synced {
		return Result{Err: errNoSync}
	}
	r := m.result
	r.Decision = r.Decision.Clone()
	all := decide.Decision{Events: r.Events, Metrics: r.Metrics}.Clone()
	r.Events, r.Metrics = all.Events, all.Metrics
	return r
}

// Clone returns a Machine with the same options and memory, and without a sync, for simulations.
// The two Machines share no data that changes.
func (m *Machine) Clone() *Machine {
	return &Machine{Names: m.Names, Decider: m.Decider, memory: m.memory.Clone(), options: m.options,
		cached: m.cached.Clone(), lastID: m.lastID}
}

// Idle reports whether the Machine waits for no write to be observed. The caller may then
// drop it, if no later View is older than the last one.
func (m *Machine) Idle() bool { return m.memory.Idle() }

// String lists the writes that are not observed yet.
func (m *Machine) String() string { return m.memory.String() }

// Memory is what a Machine remembers of its writes.
type Memory = memory.Sealed

// Memory returns what the Machine remembers. It changes with each sync, so clone it to compare.
func (m *Machine) Memory() Memory { return memory.Seal(&m.memory) }
