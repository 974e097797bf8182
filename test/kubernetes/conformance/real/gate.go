package real

import (
	"cmp"
	"slices"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/job"
)

// A gate numbers the creations of a sync. The controller sends each creation of a batch from its own
// goroutine. The gate holds the creations until the whole batch has arrived, and then numbers them
// by completion index. It knows the sizes of the batches, because the controller first sets its
// expectations to the total, and doubles the size from one batch to the next.
type gate struct {
	mu      sync.Mutex
	size    int // the size of the current batch
	left    int // the number of creations from the current batch on
	next    int // the number of the first creation of the current batch
	waiting []arrival
}

type arrival struct {
	index   string
	ordinal chan<- int
}

// open announces n creations.
func (g *gate) open(n int) {
	g.left = n
	g.size = min(n, controller.SlowStartInitialBatchSize)
}

// pass returns the number of the creation for a completion index. The index is empty if the Job is
// not Indexed.
func (g *gate) pass(index string) int {
	ordinal := make(chan int, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, arrival{index, ordinal})
	if len(g.waiting) == g.size {
		g.release()
	}
	g.mu.Unlock()
	return <-ordinal
}

func (g *gate) release() {
	slices.SortFunc(g.waiting, func(a, b arrival) int {
		// Shorter numbers are smaller.
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(a.index, b.index))
	})
	for i, a := range g.waiting {
		a.ordinal <- g.next + i
	}
	g.next += g.size
	g.left -= g.size
	g.size = min(2*g.size, g.left)
	g.waiting = g.waiting[:0]
}

// gatedExpectations tells the gate how many creations to wait for.
type gatedExpectations struct {
	*controller.ControllerExpectations
	gate *gate
}

func (e gatedExpectations) ExpectCreations(logger klog.Logger, key string, n int) error {
	e.gate.open(n)
	return e.ControllerExpectations.ExpectCreations(logger, key, n)
}

// apply sets the package variables that a sync of the input depends on, and returns a function that
// restores them.
func (in *Input) apply() (restore func()) {
	limit := in.Limits
	undo := []func(){
		// The default handlers log, and sleep so that they log at most one error per
		// millisecond.
		override(&utilruntime.ErrorHandlers, nil),
		override(&job.MaxUncountedPods, cmp.Or(limit.MaxUncounted, job.MaxUncountedPods)),
		override(&job.MaxPodCreateDeletePerSync, cmp.Or(limit.MaxCreateDelete, job.MaxPodCreateDeletePerSync)),
		override(&job.DefaultJobPodFailureBackOff, cmp.Or(limit.Base, job.DefaultJobPodFailureBackOff)),
		override(&job.MaxJobPodFailureBackOff, cmp.Or(limit.Cap, job.MaxJobPodFailureBackOff)),
		override(&job.SyncJobBatchPeriod, cmp.Or(limit.BatchPeriod, job.SyncJobBatchPeriod)),
	}
	if len(in.Off)+len(in.On) > 0 {
		undo = append(undo, override[featuregate.FeatureGate](&feature.DefaultFeatureGate,
			switchedGates{feature.DefaultFeatureGate, in.Off, in.On}))
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// HasGate reports whether the release has a feature gate.
func HasGate(gate featuregate.Feature) bool {
	_, found := feature.DefaultMutableFeatureGate.GetAll()[gate]
	return found
}

// override sets a variable, and returns a function that restores it.
func override[T any](variable *T, value T) func() {
	old := *variable
	*variable = value
	return func() { *variable = old }
}

// switchedGates holds the feature gates with some of them switched. The gates themselves cannot be
// switched if they are locked to their default, unless they emulate an older release, which also
// switches off newer features.
type switchedGates struct {
	featuregate.FeatureGate
	off, on []featuregate.Feature
}

// Enabled reports whether the gate is on.
func (g switchedGates) Enabled(f featuregate.Feature) bool {
	return slices.Contains(g.on, f) || !slices.Contains(g.off, f) && g.FeatureGate.Enabled(f)
}
