package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/jobfate/jobfate/decide"
)

// NewManager returns a manager with a controller that runs Jobs. Start the manager to run
// it.
func NewManager(config *rest.Config, o Options) (manager.Manager, error) {
	complete, err := o.complete()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the lease must not wait for other requests
	mgr, err := ctrl.NewManager(config, complete.managerOptions())
	if err != nil {
		return nil, err
	}
	return mgr, errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), Add(mgr, o))
}

// Add adds a controller of Jobs to a manager that has not started.
func Add(mgr manager.Manager, o Options) error {
	o, err := o.complete()
	if err != nil {
		return err
	}
	api, err := connect(mgr, o)
	if err != nil {
		return err
	}
	return add(mgr, o, jobs{api})
}

// clients holds the clients of one controller. Its writes and events share one limit. Reads have none, so that many
// writes do not delay them.
type clients struct {
	kubernetes.Interface
	events kubernetes.Interface // waits for the limit itself
	limit  flowcontrol.RateLimiter
	config *rest.Config
}

func connect(mgr manager.Manager, o Options) (c clients, err error) {
	c.limit = flowcontrol.NewFakeAlwaysRateLimiter()
	if o.QPS > 0 {
		c.limit = flowcontrol.NewTokenBucketRateLimiter(o.QPS, o.Burst)
	}
	c.config = rest.CopyConfig(mgr.GetConfig())
	c.config.QPS, c.config.RateLimiter = -1, nil
	c.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	typed := func(limit flowcontrol.RateLimiter) (kubernetes.Interface, error) {
		config := rest.CopyConfig(c.config)
		config.RateLimiter = limit
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		return kubernetes.NewForConfig(config)
	}
	var errEvents error
	c.Interface, err = typed(nil)
	c.events, errEvents = typed(c.limit)
	return c, errors.Join(err, errEvents)
}

func newController(o Options, objects objects) (*controller, error) {
	me := objects.controller(o)
	w, err := newWatcher(o, objects)
	return &controller{
		Options: o,
		sender:  sender{objects},
		me:      me,
		// The last option wins, so the caller cannot override these.
		decide: append(o.Decide[:len(o.Decide):len(o.Decide)],
			decide.ManagedBy(me.Name), decide.OwnerKind(me.Kind), decide.Keys(me.Keys),
			decide.BatchPeriod(o.BatchPeriod)),
		watcher: w,
		now:     time.Now,
		retries: newRetries[reconcile.Request](),
	}, err
}

// add adds a controller to a manager.
func add(mgr manager.Manager, o Options, objects objects) error {
	c, err := newController(o, objects)
	if err != nil {
		return err
	}
	c.log = mgr.GetLogger()
	if c.metrics, err = newMetrics(ctrlmetrics.Registry, c.me.Keys); err != nil {
		return err
	}
	events := &eventSender{broadcaster: record.NewBroadcasterWithCorrelatorOptions(
		record.CorrelatorOptions{SpamKeyFunc: eventBudget}),
		sink: &typedcorev1.EventSinkImpl{Interface: c.api().events.CoreV1().Events("")}}
	c.recorder = events.broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: c.EventSource})
	name := "jobfate-" + strings.ToLower(c.me.Kind.Kind) // another controller of the kind has its name
	jobs, err := ctrlcontroller.NewTyped(name, mgr, ctrlcontroller.TypedOptions[reconcile.Request]{
		Reconciler: c, MaxConcurrentReconciles: c.Workers, RateLimiter: c.retries, Logger: quietly(c.log),
		LogConstructor: c.logOf,
	})
	if err != nil {
		return err
	}
	free := orphans{c}
	freed, err := ctrlcontroller.NewTyped(name+"-orphans", mgr, ctrlcontroller.TypedOptions[orphanKey]{
		Reconciler: free, RateLimiter: newRetries[orphanKey](), Logger: quietly(c.log),
	})
	if err != nil {
		return err
	}
	ready := func(*http.Request) error {
		select {
		case <-mgr.Elected():
			return c.ready()
		default:
			return nil // a standby has no caches
		}
	}
	return errors.Join(
		jobs.Watch(source[reconcile.Request]{c.watcher, c.jobChanged, c.podChanged}),
		freed.Watch(source[orphanKey]{c.watcher, free.jobChanged, free.podChanged}),
		mgr.AddReadyzCheck(name+"-caches", ready),
		mgr.Add(events),
	)
}

// eventBudget returns the key under which client-go limits events: the object and the
// reason. With one limit for all events of an object, the events of creations would suppress
// BackingOff.
func eventBudget(e *corev1.Event) string {
	return string(e.InvolvedObject.UID) + " " + e.Reason
}

// eventSender sends events until the controllers have stopped. It does not need the lease,
// because the manager stops runnables without leader election last.
type eventSender struct {
	broadcaster record.EventBroadcaster
	sink        record.EventSink
}

func (t *eventSender) NeedLeaderElection() bool { return false }

func (t *eventSender) Start(ctx context.Context) error {
	t.broadcaster.StartRecordingToSink(t.sink)
	<-ctx.Done()
	t.broadcaster.Shutdown()
	return nil
}
