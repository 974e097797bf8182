package controller

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	. "github.com/jobfate/jobfate/internal/podtest"
	"github.com/jobfate/jobfate/tracking"
)

const managedBy = DefaultManagedBy

var (
	jobsKind   = batchv1.SchemeGroupVersion.WithResource("jobs")
	pods       = corev1.Resource("pods")
	errTimeout = apierrors.NewTimeoutError("too slow", 1)
	errQuota   = apierrors.NewForbidden(pods, "pod", errors.New("the quota is used up"))
)

// fixture is a controller with a fake API server. The test fills the caches.
type fixture struct {
	*controller
	store  *store
	server *fake.Clientset
	events *record.FakeRecorder
}

func newFixture(t testing.TB, onServer ...runtime.Object) *fixture {
	t.Helper()
	server := fake.NewClientset(onServer...)
	server.PrependReactor("patch", "*", newVersion(server.Tracker()))
	// As by the API server, a new pod gets a UID and a resource version.
	server.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
		pod := a.(ktesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		pod.UID, pod.ResourceVersion = types.UID("uid-of-"+pod.Name), "2000"
		return true, pod, server.Tracker().Create(a.GetResource(), pod, a.GetNamespace())
	})
	s := &store{
		barrier: "1",
		jobs:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace),
		pods:    newPodCache(tracking.Controller{}, nil),
	}
	o := Must(Options{ManagedBy: managedBy}.complete())
	c := Must(newController(o, jobsOf(server)))
	c.stores[""] = s
	c.now = Noon
	events := record.NewFakeRecorder(1000)
	c.recorder = events
	c.metrics = Must(newMetrics(prometheus.NewRegistry(), tracking.Keys{}))
	return &fixture{c, s, server, events}
}

// newSynced returns a fixture whose caches show what the server has.
func newSynced(t testing.TB, onServer ...runtime.Object) *fixture {
	t.Helper()
	b := newFixture(t, onServer...)
	b.show(t, onServer...)
	return b
}

func jobsOf(server kubernetes.Interface) jobs { return jobs{clientsOf(server)} }

// clientsOf returns clients without a limit.
func clientsOf(server kubernetes.Interface) clients {
	return clients{Interface: server, limit: flowcontrol.NewFakeAlwaysRateLimiter()}
}

// newVersion makes patches set a new resource version, as the API server does.
func newVersion(tracker ktesting.ObjectTracker) ktesting.ReactionFunc {
	patch, version := ktesting.ObjectReaction(tracker), atomic.Int32{}
	version.Store(100)
	return func(a ktesting.Action) (bool, runtime.Object, error) {
		handled, patched, err := patch(a)
		if err == nil {
			patched.(metav1.Object).SetResourceVersion(strconv.Itoa(int(version.Add(1))))
			err = tracker.Update(a.GetResource(), patched, a.GetNamespace())
		}
		return handled, patched, err
	}
}

// show puts objects into the caches, and sets the versions of the caches to the server's latest.
func (b *fixture) show(t testing.TB, objects ...runtime.Object) {
	t.Helper()
	for _, o := range objects {
		var add interface{ Add(any) error } = b.store.jobs
		if _, ok := o.(*corev1.Pod); ok {
			add = b.store.pods
		}
		NoError(t, add.Add(o))
	}
	b.store.jobs.Bookmark("1000")
	NoError(t, b.store.pods.Bookmark("1000"))
}

// stored returns the Job of the server.
func (b *fixture) stored(t testing.TB) *batchv1.Job {
	t.Helper()
	return Must(b.server.BatchV1().Jobs("default").Get(t.Context(), "job", metav1.GetOptions{}))
}

// writes returns the verbs and resources of the writes so far, in order.
func (b *fixture) writes() []string {
	var all []string
	for _, a := range b.server.Actions() {
		if verb := a.GetVerb(); verb != "get" && verb != "list" && verb != "watch" {
			resource := a.GetResource().Resource
			if a.GetSubresource() != "" {
				resource += "/" + a.GetSubresource()
			}
			all = append(all, verb+" "+resource)
		}
	}
	return all
}

func (b *fixture) reads() int { return len(b.server.Actions()) - len(b.writes()) }

// sent returns the events so far.
func (b *fixture) sent() []string {
	var all []string
	for len(b.events.Events) > 0 {
		all = append(all, <-b.events.Events)
	}
	return all
}

// fail makes the next requests of a kind fail.
func (b *fixture) fail(verb, resource string, times int, err error) {
	var mu sync.Mutex
	b.server.PrependReactor(verb, resource, func(ktesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, err
	})
}

func newJob(change ...func(*batchv1.Job)) *batchv1.Job {
	job := Train(1)
	job.Namespace, job.Name, job.Spec.ManagedBy, job.Spec.BackoffLimit = "default", "job", new(managedBy), new(int32(6))
	for _, c := range change {
		c(job)
	}
	return job
}

func started(job *batchv1.Job) { job.Status.StartTime = &metav1.Time{Time: Noon()} }

func newPod(job *batchv1.Job, name, version string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := PodOf(job, name+"-uid", version)
	pod.Name = name
	for _, c := range change {
		c(pod)
	}
	return pod
}

// recordingQueue is a queue that records what was added to it.
type recordingQueue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	all []string
}

func (q *recordingQueue[T]) AddAfter(r T, after time.Duration) {
	text := fmt.Sprint(r)
	if o, ok := any(r).(orphanKey); ok {
		if text = "orphans of " + o.String(); o.job != "" {
			text += " " + string(o.job)
		}
	}
	if after > 0 {
		text += " after " + after.String()
	}
	q.all = append(q.all, text)
}
