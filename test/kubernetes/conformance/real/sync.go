package real

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/job"
	clocktesting "k8s.io/utils/clock/testing"
)

// syncMu serialises syncs, because they share package variables.
var syncMu sync.Mutex

// quiet keeps the controller from logging.
var quiet = klog.NewContext(context.Background(), logr.Discard())

// Sync runs one sync of the real Job controller.
func Sync(in Input) Output {
	syncMu.Lock()
	defer syncMu.Unlock()
	defer in.apply()()
	registerMetrics()
	resetCounters()

	r := newRun(&in, newPodCache(in.Job, in.Pods))
	var out Output
	out.Panic, out.Err = r.sync()

	for _, w := range r.server.sorted() {
		out.Calls = append(out.Calls, w.Call)
	}
	out.Stale = isStale(out.Err)
	out.Events = r.events.events
	out.PodEvents = r.podEvents.sorted()
	out.Requeues = r.timers.delays
	out.Metrics = readCounters()
	out.Memory = r.memory()
	return out
}

// StripsOrphan reports whether the controller removes the finalizer of a pod from its queue of
// orphans. A nil job means that the Job in the pod's controller reference does not exist.
func StripsOrphan(pod *corev1.Pod, j *batchv1.Job) bool {
	in := Input{Job: j, Pods: []*corev1.Pod{pod}}
	s := newServer(&in)
	c := new(job.Controller)
	*podControl.in(c) = controller.RealPodControl{KubeClient: client{s: s}}
	*jobLister.in(c) = listerOf(j)
	if err := handleSingleOrphanPod(c, quiet, pod); err != nil {
		panic(err) // the input has no fault
	}
	return len(s.writes) > 0
}

// CreationsLeft returns how many creations the controller waits for after it has observed a new pod.
func CreationsLeft(in Input, pod *corev1.Pod) int {
	syncMu.Lock()
	defer syncMu.Unlock()
	r := newRun(&in, newPodCache(in.Job, in.Pods))
	addPod(r.controller, logr.Discard(), pod)
	return r.memory().Creations
}

// A run is a controller that lives for one sync.
type run struct {
	controller   *job.Controller
	key          string
	server       *server
	expectations *controller.ControllerExpectations
	timers       timers
	events       eventRecorder
	podEvents    eventRecorder
}

func newRun(in *Input, pods podCache) *run {
	r := &run{
		controller:   new(job.Controller),
		key:          cache.MetaObjectToName(in.Job).String(),
		server:       newServer(in),
		expectations: controller.NewControllerExpectations(),
	}
	c, api := r.controller, client{s: r.server}
	*kubeClient.in(c) = api
	*podControl.in(c) = controller.RealPodControl{KubeClient: api, Recorder: &r.podEvents}
	*updateStatusHandler.in(c) = func(ctx context.Context, j *batchv1.Job) (*batchv1.Job, error) {
		return updateJobStatus(c, ctx, j)
	}
	*expectations.in(c) = gatedExpectations{r.expectations, &r.server.gate}
	*finalizerExpectations.in(c) = newUIDTrackingExpectations()
	*jobLister.in(c) = listerOf(in.Job)
	*podIndexer.in(c) = pods
	*queue.in(c) = &r.timers
	*recorder.in(c) = &r.events
	*clockOf.in(c) = clocktesting.NewFakeClock(in.Now)
	*podBackoffStore.in(c) = newBackoffStore()
	setWorkloads(c, in)
	r.remember(in.Memory)
	return r
}

// sync runs the controller and catches its panic.
func (r *run) sync() (caught any, err error) {
	defer func() { caught = recover() }()
	return nil, syncJob(r.controller, quiet, r.key)
}

// remember gives the controller its memory. The stores accept any value, so they return no error.
func (r *run) remember(m Memory) {
	if m.Creations != 0 || m.Deletions != 0 {
		must(r.expectations.SetExpectations(logr.Discard(), r.key, m.Creations, m.Deletions))
	}
	if len(m.Stripped) > 0 {
		must(expectFinalizersRemoved(*finalizerExpectations.in(r.controller), logr.Discard(), r.key, m.Stripped))
	}
	remember(*podBackoffStore.in(r.controller), r.key, m.Backoff)
	if m.Finished {
		finishedExpectations.in(r.controller).Store(r.server.in.Job.UID, struct{}{})
	}
}

// remember puts a record into the store, unless it is nil.
func remember(store *backoffStore, key string, record *Record) {
	if record != nil {
		must(updateBackoffRecord(store, backoffRecord{key, record.Failures, record.LastFailure}))
	}
}

// memory returns the memory of the controller.
func (r *run) memory() Memory {
	var m Memory
	if e, found, err := r.expectations.GetExpectations(r.key); found {
		must(err)
		creations, deletions := e.GetExpectations()
		m.Creations, m.Deletions = int(creations), int(deletions)
	}
	m.Stripped = slices.Sorted(maps.Keys(getExpectedUIDs(*finalizerExpectations.in(r.controller), r.key)))
	store := *podBackoffStore.in(r.controller)
	if _, found, err := store.store.GetByKey(r.key); found {
		must(err)
		// Without pods to add, the next record equals the stored one.
		record := newBackoffRecord(store, r.key, nil, nil)
		m.Backoff = &Record{record.failuresAfterLastSuccess, record.lastFailureTime}
	}
	_, m.Finished = finishedExpectations.in(r.controller).Load(r.server.in.Job.UID)
	return m
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
