package real

import (
	"cmp"
	"slices"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/controller/job"
)

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
