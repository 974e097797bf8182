package real

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	batchv1listers "k8s.io/client-go/listers/batch/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller"
)

// A jobCache lists one Job, or none.
type jobCache struct {
	batchv1listers.JobLister
	job *batchv1.Job
}

func (c jobCache) Jobs(namespace string) batchv1listers.JobNamespaceLister {
	return namespacedJobCache{jobCache: c, namespace: namespace}
}

type namespacedJobCache struct {
	batchv1listers.JobNamespaceLister
	jobCache
	namespace string
}

func (c namespacedJobCache) Get(name string) (*batchv1.Job, error) {
	if c.job == nil || c.job.Namespace != c.namespace || c.job.Name != name {
		return nil, apierrors.NewNotFound(batchv1.Resource("jobs"), name)
	}
	return c.job, nil
}

// A podCache finds pods by their controller. A real one would return the pods
// in no particular order, and the controller would put those that have no
// controller last; this one keeps the order of the input throughout.
type podCache struct {
	cache.Indexer
	job  *batchv1.Job
	pods []*corev1.Pod
}

// ByIndex returns the pods that the Job controls together with those that
// have no controller, when asked for the former; it returns nothing when asked
// for the latter.
func (c podCache) ByIndex(_, key string) ([]any, error) {
	orphan := controller.PodControllerIndexKey(c.job.Namespace, nil)
	if key == orphan {
		return nil, nil
	}
	found := make([]any, 0, len(c.pods))
	for _, p := range c.pods {
		switch controller.PodControllerIndexKey(p.Namespace, metav1.GetControllerOfNoCopy(p)) {
		case key, orphan:
			found = append(found, p)
		}
	}
	return found, nil
}

// A timers is a queue that remembers the delays that it is asked for.
type timers struct {
	workqueue.TypedRateLimitingInterface[string]
	delays []time.Duration
}

func (t *timers) AddAfter(_ string, delay time.Duration) {
	t.delays = append(t.delays, delay)
}

// A diary remembers events.
type diary struct {
	record.EventRecorder
	mu     sync.Mutex
	events []Event
}

func (d *diary) Event(_ runtime.Object, eventType, reason, message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, Event{eventType, reason, message})
}

func (d *diary) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	d.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

// sorted returns the events in an order that does not depend on that of
// goroutines.
func (d *diary) sorted() []Event {
	slices.SortFunc(d.events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return d.events
}
