package real

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	batchv1listers "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller"
)

// listerOf lists one Job, or none.
func listerOf(job *batchv1.Job) batchv1listers.JobLister {
	jobs := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	if job != nil {
		must(jobs.Add(job))
	}
	return batchv1listers.NewJobLister(jobs)
}

// A podCache finds pods by their controller. It keeps the order of the input. A real cache would
// return the pods in any order, and the Job controller would append those without a controller.
type podCache struct {
	cache.Indexer
	key   string // of the pods of the Job
	found []any
}

// newPodCache returns a cache with both kinds of pods for the key of the Job: those that it controls, and
// those without a controller. For the key of the pods without a controller it has nothing.
func newPodCache(job *batchv1.Job, pods []*corev1.Pod) podCache {
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	key := controller.PodControllerIndexKey(job.Namespace, owner)
	orphan := controller.PodControllerIndexKey(job.Namespace, nil)
	c := podCache{key: key, found: make([]any, 0, len(pods))}
	for _, p := range pods {
		switch controller.PodControllerIndexKey(p.Namespace, metav1.GetControllerOfNoCopy(p)) {
		case key, orphan:
			c.found = append(c.found, p)
		}
	}
	return c
}

func (c podCache) ByIndex(_, key string) ([]any, error) {
	if key != c.key {
		return nil, nil
	}
	return c.found, nil
}

// timers is a queue that records the delays of AddAfter.
type timers struct {
	workqueue.TypedRateLimitingInterface[string]
	delays []time.Duration
}

func (t *timers) AddAfter(_ string, delay time.Duration) {
	t.delays = append(t.delays, delay)
}

// An eventRecorder records events.
type eventRecorder struct {
	record.EventRecorder
	mu     sync.Mutex
	events []Event
}

func (d *eventRecorder) Event(_ runtime.Object, eventType, reason, message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, Event{eventType, reason, message})
}

func (d *eventRecorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	d.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// sorted returns the events in an order that does not depend on goroutines.
func (d *eventRecorder) sorted() []Event {
	slices.SortFunc(d.events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return d.events
}
