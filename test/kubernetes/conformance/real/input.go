package real

import (
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/featuregate"
)

// An Input is everything that one sync depends on. A sync does not change it.
type Input struct {
	Job *batchv1.Job // as in the controller's cache; it needs a name, a namespace and a UID
	// Pods lists the pods in the controller's cache, in the order in which the cache returns
	// them. The controller does not get pods of other owners and other namespaces.
	Pods []*corev1.Pod
	Now  time.Time
	Memory
	Cached Versions // up to which the caches are complete; only Wrote needs it

	Live     *batchv1.Job // the Job on the server, if the cache is stale; nil: Job
	Validate bool         // whether the server validates statuses
	Fail     Faults
	Limits   Limits
	Off      []featuregate.Feature // gates that are off, even if they are locked
	On       []featuregate.Feature // gates that are on
}

// Memory is the state that the controller keeps for a Job between two syncs.
type Memory struct {
	Creations int         // creations that are not observed
	Deletions int         // deletions that are not observed
	Stripped  []types.UID // pods whose removal of the finalizer is not observed; sorted in an Output
	Backoff   *Record     // nil: none; never nil after the first status write
	Finished  bool        // the end of the Job was stored and is not observed
	// Wrote holds the versions of the last writes to the Job and to its pods. With the gate
	// StaleControllerConsistencyJob, which is on by default from 1.36 on, the controller skips the
	// sync while a cache is older. Without Wrote it behaves as with the gate off.
	Wrote Versions
}

// Versions are resource versions of Jobs and pods.
type Versions struct{ Jobs, Pods string }

// A Record is the entry of a Job in the backoff store.
type Record struct {
	Failures    int32 // since the last success
	LastFailure *time.Time
}

// Limits are package variables of the controller. A zero field leaves the default.
type Limits struct {
	MaxUncounted    int           // MaxUncountedPods
	MaxCreateDelete int           // MaxPodCreateDeletePerSync
	Base            time.Duration // DefaultJobPodFailureBackOff
	Cap             time.Duration // MaxJobPodFailureBackOff
	BatchPeriod     time.Duration // SyncJobBatchPeriod
}

// Faults says which calls fail, and with which errors. A call that fails has no effect.
type Faults struct {
	// Create holds errors by the number of the creation, from 0, in the order of the
	// completion indexes. The controller sends creations in batches of 1, 2, 4, … and skips
	// the batches after one with a failure.
	Create map[int]error

	// Errors by the name of the pod.
	Adopt         map[string]error
	Release       map[string]error
	StripToDelete map[string]error
	Delete        map[string]error
	Strip         map[string]error

	Status map[int]error // errors by the number of the status write, from 0
	Get    error         // the error of the live read of the Job before the first adoption
}

// Of returns the error of a call, by the name of the pod, or by the number of the creation or status write.
func (f *Faults) Of(kind Kind, pod string, number int) error {
	switch kind {
	case Create:
		return f.Create[number]
	case WriteStatus:
		return f.Status[number]
	}
	return map[Kind]map[string]error{
		Adopt: f.Adopt, Release: f.Release, StripToDelete: f.StripToDelete, Delete: f.Delete, Strip: f.Strip,
	}[kind][pod]
}

// Errors to use as faults. The controller handles every other error like ErrInternal.
var (
	ErrInternal error = apierrors.NewInternalError(errors.New("injected"))
	ErrNotFound error = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "injected")
	ErrConflict error = apierrors.NewConflict(schema.GroupResource{Resource: "jobs"}, "injected",
		errors.New("injected"))
	ErrInvalid              error = apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "injected", nil)
	ErrNamespaceTerminating error = namespaceTerminating()
)

func namespaceTerminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "injected",
		errors.New("namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
