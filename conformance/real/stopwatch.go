package real

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller"
)

// A Stopwatch times syncs of the real controller. Everything around the controller is prepared
// before the clock starts, or takes almost no time: the cache has the list of pods ready, and the
// server answers each write at once without recording it.
type Stopwatch struct {
	in    Input
	clock func() time.Duration
	found []any // the pods that the cache returns
}

// NewStopwatch prepares syncs of one input. The clock returns the time since some moment. It may be
// the CPU time of the thread.
func NewStopwatch(in Input, clock func() time.Duration) (*Stopwatch, error) {
	s := &Stopwatch{in: in, clock: clock}
	owner := metav1.NewControllerRef(in.Job, batchv1.SchemeGroupVersion.WithKind("Job"))
	var err error
	s.found, err = podCache{job: in.Job, pods: in.Pods}.ByIndex("",
		controller.PodControllerIndexKey(in.Job.Namespace, owner))
	return s, err
}

// Sync runs one sync, like the first one after a start of the controller, and returns how long it
// took.
func (s *Stopwatch) Sync() (time.Duration, error) {
	syncMu.Lock()
	defer syncMu.Unlock()
	defer s.in.apply()()
	registerMetrics()

	r := newRun(&s.in)
	r.server.forgetful = true
	*podIndexer.in(r.controller) = preparedPodCache{found: s.found,
		orphan: controller.PodControllerIndexKey(s.in.Job.Namespace, nil)}
	start := s.clock()
	caught, err := r.sync()
	took := s.clock() - start
	if caught != nil {
		return 0, fmt.Errorf("the controller panicked: %v", caught)
	}
	return took, err
}

// A preparedPodCache has the pods of the Job ready.
type preparedPodCache struct {
	cache.Indexer
	found  []any
	orphan string // the key of the pods without a controller
}

// ByIndex returns the pods for the key of the Job, and nothing for the key of the pods without a
// controller.
func (c preparedPodCache) ByIndex(_, key string) ([]any, error) {
	if key == c.orphan {
		return nil, nil
	}
	return c.found, nil
}
